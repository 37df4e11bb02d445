#!/usr/bin/env python3
"""Whether the GPU kernels' machine code has the instructions that their notes speak of.

usage: machine_code.py OBJECTS BIN
  OBJECTS  the folder of the compiled kernels (kernels_cuda_*.dir/<operation>/<file>.cu.o)
  BIN      the folder of cuobjdump and nvdisasm
Exit code 1: some kernel lacks an instruction, has one that it must not have, or waits for each wgmma;
77: no cuobjdump.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# Of a kernel of the file whose mangled name matches: at least so many of each instruction. A number
# is what one trip through the innermost loop needs, or 1. Names as nvdisasm prints them: LDGSTS is
# cp.async, LDSM ldmatrix, STSM stmatrix, UTMALDG and UTMASTG TMA, HGMMA, IGMMA and QGMMA wgmma,
# SYNCS mbarriers, PREEXIT and ACQBULK griddepcontrol, UCGABAR a cluster's barrier, NA without a place
# in L1.
LOADS_16 = r"LDG\.E\.(?:\w+\.)*128"
RING = {r"UTMALDG": 1, r"SYNCS\.PHASECHK": 2, r"USETMAXREG\.TRY_ALLOC": 1, r"USETMAXREG\.DEALLOC": 1}
FEW_WGMMA = {r"UTMALDG": 4, r"SYNCS\.PHASECHK": 2, r"PREEXIT": 1, r"ACQBULK": 2}
BY_TYPE = {"Bf16Y|F16Y": {r"HGMMA": 4}, "2S8E": {r"IGMMA": 4}, "E4m3": {r"QGMMA": 4}}
SPLIT_K = {r"LDGSTS\.E\.BYPASS\.128": 8, r"ATOMG\.E\.INC": 1}
QUARTERS = {**RING, r"UTMALDG\.3D\.MULTICAST": 1, r"UTMASTG": 1, r"LDSM\.16\.M88\.4": 4, r"QGMMA": 16,
            r"FADD": 128}
RULES = {
    "dot_sm80_v1_atomic": {"": {r"RED\.E\.ADD": 1}},
    "dot_sm80_v3_shuffle": {"": {r"SHFL\.BFLY": 10}},
    "dot_sm80_v4_vector": {"": {LOADS_16: 2}, r"_vectorIa": {r"IDP\.4A\.S8\.S8": 4}},
    "dot_sm80_v5_flight": {"": {r"LDG\.E\.NA\.128": 8}},
    "dot_sm80_v6_single": {"": {r"LDG\.E\.NA\.128": 8, r"ATOMG\.E\.INC": 1}},
    "stream_sm80_vector": {"read": {LOADS_16: 8}, "write": {r"STG\.E\.128": 4},
                           "triad": {LOADS_16: 8, r"STG\.E\.128": 4}},
    "stream_sm80_l1": {"": {LOADS_16: 2}},
    "stream_sm80_shared": {"": {r"LDS\.128": 2}},
    "chase_sm80_plain": {"follow": {r"LDG\.E\.64": 16}, "touch": {r"LDG\.E\.64": 1}},
    "chase_sm80_shared": {"": {r"LDS": 16}},
    "fma_peak_sm80_cuda_core": {"fma_chainsId": {r"DFMA": 256}, "fma_chainsIf": {r"FFMA": 384},
                                "pair_chainsI6__half": {r"HFMA2": 384},
                                "pair_chainsI.*bf16": {r"HFMA2\.BF16_V2": 384}},
    "fma_peak_sm80_mma": {"Bf16": {r"HMMA\.16816\.F32\.BF16": 32}, "F16": {r"HMMA\.16816\.F32$": 32},
                          "Tf32": {r"HMMA\.1688\.F32\.TF32": 32}, "2S8E": {r"IMMA\.16832\.S8\.S8": 32},
                          "f64": {r"DMMA\.884": 32}},
    "fma_peak_sm89_mma": {"": {r"QMMA\.16832\.F32\.E4M3\.E4M3": 32}},
    "fma_peak_sm90a_mma": {"": {r"DMMA\.16": 32}},
    "fma_peak_sm90a_wgmma": {"Bf16|F16|Tf32": {r"HGMMA": 4}, "2S8E": {r"IGMMA": 4}, "E4m3": {r"QGMMA": 4}},
    "matmul_sm80_v1_naive": {"": {r"FFMA": 1}},
    "matmul_sm80_v2_coalesced": {"": {r"FFMA": 1}},
    "matmul_sm80_v3_shared": {"kernelIf": {r"FFMA": 32, r"LDS": 32}, "kernelId": {r"DFMA": 32}},
    "matmul_sm80_v4_register": {"": {r"FFMA": 64, r"LDS": 16}},
    "matmul_sm80_v5_vector": {"": {r"FFMA": 64, r"LDS\.128": 4, LOADS_16: 2, r"STG\.E\.128": 16}},
    "matmul_sm80_v6_warptile": {"": {r"FFMA": 64, r"LDS\.128": 4, LOADS_16: 2, r"STG\.E\.128": 16}},
    "matmul_sm80_v7_async": {"": {r"FFMA": 256, r"LDS\.128": 16, r"LDGSTS\.E\.BYPASS\.128": 2,
                                  r"STG\.E\.128": 16}},
    "matmul_sm80_simt_ahead": {"": {r"FFMA": 1024, r"LDS\.128": 64, r"STS": 8, LOADS_16: 2,
                                    r"LDGSTS\.E\.BYPASS\.128": 2, r"STG\.E\.128": 16}},
    "matmul_sm80_v8_mma": {"": {r"LDGSTS\.E\.BYPASS\.128": 4, r"LDSM\.16\.M88\.4": 8},
                           "Bf16": {r"HMMA\.16816\.F32\.BF16": 32, r"LDSM\.16\.MT88\.4": 4},
                           "F16": {r"HMMA\.16816\.F32": 32}, "2S8E": {r"IMMA\.16832\.S8\.S8": 32}},
    "matmul_sm80_mma_wide": {"": {r"LDGSTS\.E\.BYPASS\.128": 21, r"LDSM\.16\.M88\.4": 12},
                             "Bf16": {r"HMMA\.16816\.F32\.BF16": 96, r"LDSM\.16\.MT88\.4": 8},
                             "F16": {r"HMMA\.16816\.F32": 96, r"LDSM\.16\.MT88\.4": 8},
                             "Tf32": {r"HMMA\.1688\.F32\.TF32": 96, r"LDSM\.16\.M88\.4": 20},
                             "2S8E": {r"IMMA\.16832\.S8\.S8": 96, r"LDSM\.16\.M88\.4": 20}},
    "matmul_sm80_splitk": {"": SPLIT_K, "Bf16E": {r"HMMA\.16816\.F32\.BF16": 8},
                           "Bf16xS8": {r"HMMA\.16816\.F32\.BF16": 16, r"HFMA2\.BF16_V2": 16},
                           "Tf32": {r"HMMA\.1688\.F32\.TF32": 8}, "2S8E": {r"IMMA|HFMA2": 8}},
    "matmul_sm80_skinny": {"": {r"LDG\.E\.NA\.128": 16, r"LDGSTS\.E\.BYPASS\.128": 1, r"ATOMG\.E\.INC": 1},
                           "FewBf16E": {r"HMMA\.16816\.F32\.BF16": 16, r"PRMT": 64},
                           "FewBf16xS8": {r"HMMA\.16816\.F32\.BF16": 32, r"HFMA2\.BF16_V2": 128},
                           "FewS8": {r"IMMA\.16832\.S8\.S8": 16}, "FewE4m3": {r"HMMA\.16816\.F32": 32}},
    "matmul_sm80_splitk_simt": {"": {**SPLIT_K, r"FFMA": 256, r"LDS\.128": 40}},
    "matmul_sm90a_v9_tma": {"": {r"UTMALDG": 1, r"SYNCS\.PHASECHK": 1, r"HGMMA": 4}},
    "matmul_sm90a_v10_ring": {"": {**RING, r"HGMMA": 4}},
    "matmul_sm90a_v11_persistent": {"": {**RING, r"HGMMA": 4}},
    "matmul_sm90a_v12_cluster": {"": {**RING, r"HGMMA": 4, r"UTMALDG\.3D\.MULTICAST": 1, r"UCGABAR": 2}},
    "matmul_sm90a_v13_store": {"": {**RING, r"UTMALDG\.3D\.MULTICAST": 1, r"UTMASTG": 1},
                               "Bf16|F16|Tf32": {r"HGMMA": 4}, "2S8E": {r"IGMMA": 4}, "E4m3": {r"QGMMA": 4},
                               "Bf16ENS|F16E6__half": {r"STSM\.16\.M88\.4": 4}},
    "matmul_sm90a_v14_streamk": {"": {**RING, r"UTMASTG": 1, r"ATOMG\.E\.INC": 1, LOADS_16: 16},
                                 "Bf16|F16|Tf32": {r"HGMMA": 4}, "2S8E": {r"IGMMA": 4},
                                 "E4m3": {r"QGMMA": 4}},
    "matmul_sm90a_streamk_pairs": {"": {**RING, r"UTMALDG\.3D\.MULTICAST": 2, r"UTMASTG": 1, r"PREEXIT": 1,
                                        r"ACQBULK": 2, r"ATOMG\.E\.INC": 1, LOADS_16: 16},
                                   "Bf16|F16|Tf32": {r"HGMMA": 4}, "2S8E": {r"IGMMA": 4},
                                   "E4m3": {r"QGMMA": 4}},
    "matmul_sm90a_v15_widen": {"": {**RING, r"HGMMA": 8, r"HFMA2\.BF16_V2": 32, r"ATOMG\.E\.INC": 1}},
    "matmul_sm90a_v16_quarters": {"": QUARTERS},
    "matmul_sm90a_v17_behind": {"": {**QUARTERS, r"UTMASTG": 16}},
    "matmul_sm90a_skinny": {"": {**FEW_WGMMA, r"ATOMG\.E\.INC": 1, LOADS_16: 16}, **BY_TYPE},
    "matmul_sm90a_skinny_cluster": {"": {**FEW_WGMMA, r"UCGABAR_ARV": 2, r"LD\.E\.128": 8}, **BY_TYPE},
    "matmul_sm90a_rows_cluster": {"": {**RING, r"UTMALDG\.3D\.MULTICAST": 2, r"PREEXIT": 1, r"ACQBULK": 2,
                                       r"UCGABAR_ARV": 3, r"LD\.E\.128": 8},
                                  "Bf16|F16": {r"HGMMA": 4}, "2S8E": {r"IGMMA": 4}, "E4m3": {r"QGMMA": 4}},
    "attention_sm80_v2_split": {"split_kernel": {r"LDG\.E\.NA\.128": 8}},
    "attention_sm80_v3_gqa": {"split_kernel": {r"LDG\.E\.NA\.128": 4}},
    "attention_sm80_v4_mma": {"mma_kernel.*Li128": {r"LDGSTS\.E\.BYPASS\.128": 8, r"HMMA\.16816\.F32": 32},
                              "mma_kernelI6__half|mma_kernelINS_4bf16": {r"LDSM\.16\.M88\.4": 4,
                                                                         r"LDSM\.16\.MT88\.4": 4}},
    "attention_sm90a_v5_tma": {"tma_kernel.*Li128": {r"UTMALDG": 2, r"SYNCS\.PHASECHK": 2,
                                                     r"HMMA\.16816\.F32": 32}},
    "attention_sm90a_v6_fused": {"tma_kernel.*Li128": {r"UTMALDG": 2, r"SYNCS\.PHASECHK": 2,
                                                       r"HMMA\.16816\.F32": 32, r"ATOMG\.E\.INC": 1}},
    "attention_sm90a_v8_queue": {"": {r"UTMALDG": 2, r"SYNCS\.PHASECHK": 4, r"ATOMG\.E\.INC": 2},
                                 "TmaHeads.*Li128": {r"HMMA\.16816\.F32": 32},
                                 "HeadsIa": {r"IMMA\.16832\.S8\.S8": 16, r"IMMA\.16832\.U8\.S8": 16}},
    "attention_sm90a_v7_bytes": {"": {r"UTMALDG": 2, r"SYNCS\.PHASECHK": 2, r"LDSM\.16\.M88\.4": 8,
                                      r"LDSM\.16\.MT88\.4": 8, r"FADD\.RM|HMMA": 8},
                                 "e4m3": {r"HMMA\.16816\.F32": 48, r"F2FP\.F16\.E4M3": 128},
                                 "HeadsIa": {r"IMMA\.16832\.S8\.S8": 16, r"IMMA\.16832\.U8\.S8": 16}},
}
# Local memory (a spill), and loads and stores that first ask which memory an address is of.
FORBIDDEN = re.compile(r"^(?:LDL|STL|LD|ST|ATOM)(?:\.|$)")
# But so are loads of another block's shared memory.
OF_A_CLUSTER = {"matmul_sm90a_skinny_cluster": "LD.E.128", "matmul_sm90a_rows_cluster": "LD.E.128"}

# Where ptxas cannot tell that registers are left alone it has each wgmma waited for (C7510 and others).
WGMMA, WAIT = re.compile(r"[HIQ]GMMA"), re.compile(r"WARPGROUP\.DEPBAR")

# 00a0 @!P0 LDG.E.128 R4, desc[UR6][R2.64] ;
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")


def instructions(item):
    """By kernel, how often each instruction is there."""
    stem, path, env = item
    arch = re.search(r"_(sm\d+a?)_", stem)[1]
    listing = subprocess.run(["cuobjdump", "-sass", "-arch", arch.replace("sm", "sm_"), path], env=env,
                             capture_output=True, text=True, check=True).stdout
    kernels, counts = {}, collections.Counter()
    for line in listing.splitlines():
        if name := re.match(r"\s*Function : (\S+)", line):
            counts = kernels[name[1]] = collections.Counter()
        elif found := INSTRUCTION.search(line):
            counts[found[1]] += 1
    return stem, kernels


def faults(stem, kernels):
    for kernel, counts in kernels.items():
        wgmma, waits = (sum(n for name, n in counts.items() if which.match(name)) for which in (WGMMA, WAIT))
        if wgmma > 0 and waits >= wgmma:
            yield f"{stem}: {waits} waits for {wgmma} wgmma in {kernel}"
        for name in filter(FORBIDDEN.match, counts):
            if name != OF_A_CLUSTER.get(stem):
                yield f"{stem}: {name} in {kernel}"
    for pattern, needed in RULES[stem].items():
        matching = {k: counts for k, counts in kernels.items() if re.search(pattern, k)}
        if not matching:
            yield f"{stem}: no kernel matches '{pattern}'"
        for kernel, counts in matching.items():
            for instruction, least in needed.items():
                there = sum(n for name, n in counts.items() if re.match(instruction, name))
                if there < least:
                    yield f"{stem}: {there} of {least} {instruction} in {kernel}"


def main():
    objects, tools = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if not (tools / "cuobjdump").exists():
        print(f"no cuobjdump in {tools}")
        return 77
    env = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
    compiled = {path.name.removesuffix(".cu.o"): path for path in objects.glob("kernels_cuda_*.dir/*/*.cu.o")}
    ours = {stem for stem in compiled if re.search(r"_sm\d+a?_", stem)}
    without = {"decode_sm80_mma", "dot_sm80_v2_block", "launch_sm80_graph", "launch_sm80_stream",
               "link_sm80_pinned", "attention_sm80_v1_warp"}  # their notes name no instruction
    wrong = [f"{stem}: no rule, or none compiled" for stem in sorted(ours ^ (set(RULES) | without))]
    items = [(stem, compiled[stem], env) for stem in sorted(ours & set(RULES))]
    count = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for stem, kernels in pool.map(instructions, items):
            count += len(kernels)
            wrong += faults(stem, kernels)
    print("\n".join(wrong) if wrong else f"{count} kernels of {len(items)} files have what their notes name")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
