# roofline run over fake bench programs: what it writes, and what is left when things break.
set -u
roofline=$1/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/fake_bin.sh"
work=$(mktemp -d)
mounted=
finish() { [ -z "$mounted" ] || umount "$mounted"; rm -rf "$work"; }
trap finish EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

fake_bin bench_ceilings bench_matmul bench_dot

# measure NAME EXPECTED_CODE ARGUMENTS…: a run into out/NAME; $folder is its results folder.
measure() {
  local name=$1 expected=$2 code
  shift 2
  "$roofline" run --bin bin --out "out/$name" --device cpu "$@" >"$name.out" 2>"$name.err"
  code=$?
  folder=$(ls -d "out/$name"/*/*/ 2>/dev/null | tail -1)
  [ $code -eq "$expected" ] || { fail "$name: exit code $code, expected $expected"; cat "$name.err"; }
}

# refused REGEX ARGUMENTS…: exit code 2, one line on stderr, no results folder.
refused() {
  local regex=$1 code
  shift
  "$roofline" run --bin bin --out out/refused "$@" >out.txt 2>err.txt
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -Eq "$regex" err.txt; then
    fail "run $*: exit code $code, expected 2 and one line like /$regex/:"
    cat err.txt
  fi
  ls out/refused/*/*/ >/dev/null 2>&1 && fail "run $*: left a results folder"
}

# check FOLDER EXPRESSION: true in Python, with state, csv(name), bench (all rows), names.
check() {
  python3 - "$1" "$2" <<'PY' || fail "$1: not so: $2"
import csv as reader, glob, json, os, sys
folder, expression = sys.argv[1:]
def csv(name):
    with open(os.path.join(folder, name), newline="") as file:
        return list(reader.DictReader(file))
state = json.load(open(os.path.join(folder, "run.json")))
files = [json.load(open(f)) for f in glob.glob(os.path.join(folder, "bench", "*.json"))]
bench = [row for file in files for row in file["benchmarks"]]
names = {row["name"].removesuffix("/real_time") for row in bench}
memory = json.load(open(os.path.join(folder, "machine.json")))["memory"]["usable_bytes"]
sys.exit(0 if eval(expression) else 1)
PY
}

whole=13 # groups: fma_peak, stream at 1 and 2 threads, chase, two operations with four each

# 1. All is well.
measure good 0
good=$folder
for table in ceilings.csv sweep.csv trace.csv roofline.csv; do
  check "$folder" "len(csv('$table')) > 0"
done
[ -e "$folder.part" ] && fail 'good: .part is left'
check "$folder" "state['status'] == 'complete' and len(files) == $whole == state['groups_total']"
check "$folder" "state['builds'] == ['$("$roofline" --version | sed 's/^roofline //')']"
check "$folder" "all(row['run_type'] == 'iteration' for row in bench)"
check "$folder" "all(sum(r['name'] == row['name'] for r in bench) == 9 for row in bench)"
# Cold data is large, 6 GB for ours and for the library, of others 4: without so much memory rounds
# run one after the other.
check "$folder" "{row['round'] for row in bench if 'temp:cold' in row['name']} == ({0} if memory >= 12e9 else {0, 1, 2})"
check "$folder" "{row['round'] for row in bench if 'temp:cold' not in row['name']} in ([{0}] if memory >= 8e9 else [{0}, {0, 1, 2}])"
check "$folder" "all(file['context']['machine'] == 'fake-box' for file in files)"
check "$folder" "all('host_name' not in file['context'] for file in files)"
check "$folder" "{file['context']['executable'] for file in files} == {'bench_ceilings', 'bench_matmul', 'bench_dot'}"
check "$folder" "len(state['skipped']) == 8"
check "$folder" "any(r['resource'] == 'compute' and r['dtype'] == 'f32' and r['threads'] == '2' for r in csv('ceilings.csv'))"
check "$folder" "sum(r['kernel'] == 'dot' and r['variant'] == 'avx2' for r in csv('roofline.csv')) == 4"
check "$folder" "all(r['peer_ratio'] == '1.25' for r in csv('roofline.csv') if r['variant'] == 'avx2')"
check "$folder" "all(r['time_low_s'] and r['samples'] == '9' for r in csv('roofline.csv'))"
grep -q 'skipped 8 benchmarks, such as .*: this CPU has no AVX-512' good.err || fail 'good: skips not shown'
grep -Eq '^\[0/13\] [0-9:]+ left, ' good.err || fail 'good: no progress line'
grep -Eq 'dot/f32/N:1000/cold/1T +avx2 .*1\.25x OpenBLAS' good.out || fail 'good: no summary line'
grep -q 'further rounds' good.out && fail 'good: samples are wanting'
[ "$(wc -l <good.err)" -lt 12 ] || fail 'good: too many lines on stderr'

# A library that has to be told of the CPU: as installed and as tuned.
FAKE_TUNED=FAKE_CORE=wide measure tuned 0 --filter '^dot/'
check "$folder" 'len([n for n in names if n.startswith("dot/openblas/")]) == 4'
check "$folder" 'len([n for n in names if n.startswith("dot/openblas_tuned/")]) == 4'
check "$folder" 'all(round(float(r["time_s"]) * float(r["threads"]) * 1e9, -1) == {"openblas": 1250,
  "openblas_tuned": 620}[r["variant"]] for r in csv("roofline.csv") if "openblas" in r["variant"])'

# 2. One bench breaks: it is named, the others are there. Three variants share its process.
for mode in crash garbage truncated nocounters nan exit3 silent wrong; do
  FAKE_FAULTS="$mode:dot/scalar/f32/N:1000/temp:cold/threads:1" measure "$mode" 1 --filter '^dot'
  check "$folder" "[f['benchmark'] for f in state['failures']] == ['dot/scalar/f32/N:1000/temp:cold/threads:1']"
  check "$folder" "state['status'] == 'failed'"
  check "$folder" "'dot/avx2/f32/N:1000/temp:cold/threads:1' in names"
  check "$folder" "sum(r['kernel'] == 'dot' for r in csv('roofline.csv')) == 11"
  grep -q 'failed: dot/scalar/f32/N:1000/temp:cold/threads:1: ' "$mode.err" || fail "$mode: not shown"
done
grep -q 'killed by SIGSEGV' crash.err || fail 'crash: reason'
grep -q 'exit code 3: out of luck' exit3.err || fail 'exit3: reason'
grep -q "no counter 'flops'" nocounters.err || fail 'nocounters: reason'
grep -q 'wrong result: 1 instead of 2' wrong.err || fail 'wrong: reason'
FAKE_FAULTS='skip:dot/scalar' measure skip 0 --filter '^dot'
check "$folder" "any(s['reason'] == 'not on this machine' for s in state['skipped'])"
grep -Fxq 'skipped 4 benchmarks, such as dot/scalar/f32/N:1000/temp:warm/threads:1: not on this machine' skip.out ||
  fail 'skip: not told at the end'
grep -Fxq 'skipped 4 benchmarks, such as dot/avx512/f32/N:1000/temp:warm/threads:1: this CPU has no AVX-512' skip.out ||
  fail 'skip: the plan'"'"'s skips are not told at the end'
before=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["skipped"])' "${folder}run.json")
"$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt || fail 'skip: resume'
check "$folder" "sorted(map(str, state['skipped'])) == sorted(map(str, $before)) and len(state['skipped']) == 8"
# A process that was killed once is told of, and its benchmarks are run again: one by one, or a
# library's alone, where memory lets it take turns with ours (else it was alone at once).
once=scalar
python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["memory"]["usable_bytes"] < 9e9)' \
  "${good}machine.json" && once='scalar openblas'
warm=f32/N:1000/temp:warm/threads:1
for variant in $once; do
  mkdir "killed$variant"
  FAKE_STATE=killed$variant FAKE_FAULTS=killedonce:dot/$variant/$warm measure "once$variant" 0 --filter '^dot'
  check "$folder" "state['failures'] == [] and 'dot/$variant/$warm' in names"
  case $variant in
    scalar) told='bench_dot: killed by SIGKILL: run again one by one' ;;
    openblas) told='openblas: killed by SIGKILL: run again alone' ;;
  esac
  grep -Fxq "dot_f32_N-1000_temp-warm_threads-1, $told" "once$variant.err" || fail "once$variant: not told"
done
FAKE_FAULTS='tiny:dot/scalar' measure tiny 0 --filter '^dot'
check "$folder" "{row['residual'] for row in bench if 'dot/scalar' in row['name']} == {1.25e-310}"
# What is left out beside a wrong kernel is not wrong.
cold=f32/N:1000/temp:cold/threads:1
FAKE_FAULTS="wrong:dot/scalar/$cold,skip:dot/avx2/$cold" measure wrongskip 1 --filter '^dot'
check "$folder" "[f['benchmark'] for f in state['failures']] == ['dot/scalar/$cold']"
check "$folder" "'dot/avx2/$cold' in {s['benchmark'] for s in state['skipped']}"
FAKE_FAULTS='hang:dot/scalar/f32/N:1000/temp:cold/threads:1' measure hang 1 --filter '^dot.*cold/threads:1' --timeout 2
grep -q 'no end after 2 s, killed' hang.err || fail 'hang: reason'
check "$folder" "'dot/avx2/f32/N:1000/temp:cold/threads:1' in names"
# A benchmark that failed is tried again on --resume, the others are left alone.
before=$(stat -c %Y.%i "$folder"bench/*.json | sort)
"$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt || { fail 'resume after a failure'; cat err.txt; }
check "$folder" "state['status'] == 'complete' and state['failures'] == []"
check "$folder" "'dot/scalar/f32/N:1000/temp:cold/threads:1' in names"
same=$(comm -12 <(echo "$before") <(stat -c %Y.%i "$folder"bench/*.json | sort) | wc -l)
[ "$same" -eq $(($(echo "$before" | wc -l) - 1)) ] || fail "resume: $same files untouched"

# An error before the first sample: the samples after it stay whole.
FAKE_FAULTS=badstart:dot/avx2 measure badstart 0 --filter '^dot/'
check "$folder" "any('flops' in row and row['label'] for row in bench if 'dot/avx2' in row['name'])"
check "$folder" "any(row['variant'] == 'avx2' for row in csv('roofline.csv'))"

# A program: its parts follow it in roofline.csv, and prediction.csv holds it against the ceilings.
ln -s ../fake bin/bench_decode
measure program 0 --filter '^decode'
rm bin/bench_decode
check "$folder" "[(r['scope'], r['kernel']) for r in csv('roofline.csv')] == [('program', 'decode'), ('operation', 'decode_qkv'), ('operation', 'decode_attention'), ('operation', 'decode_glue')] * 2"
check "$folder" "{r['parent'] for r in csv('roofline.csv') if r['scope'] == 'operation'} == {'decode/avx2/bf16/B:%d/T:64/layers:2/kv:s8/threads:2' % b for b in (1, 8)}"
check "$folder" "all(r['samples'] == '9' and r['time_low_s'] for r in csv('roofline.csv'))"
# The fake machine reads 20 GB/s on 2 threads and does 100 GFLOP/s.
check "$folder" "[(r['part'], round(float(r['t_parameters_s']), 6), round(float(r['t_kv_s']), 6), r['verdict']) for r in csv('prediction.csv')][:4] == [('step', 0.05, 0.005, 'near'), ('qkv', 0.05, 0, 'explained'), ('attention', 0, 0.005, 'near'), ('glue', 0, 0, 'overhead')]"
check "$folder" "[round(float(r['t_lower_s']), 6) for r in csv('prediction.csv') if r['part'] == 'step'] == [0.055, 0.09]"
check "$folder" "sum('flops_part_qkv' in row for row in bench) == 2 and sum('time_part_qkv' in row for row in bench) == 18"
grep -q '2 of 2 steps between T_lower and T_upper, or within 15 % of T_lower' program.out || fail 'program: no summary'
[ -e "${good}prediction.csv" ] && fail 'good: a prediction.csv without a program'

# 3. kill -9 at several moments: the folder loads, what was finished stays, --resume completes it.
for groups in 1 4 9; do
  name=kill$groups
  FAKE_SLEEP=0.2 "$roofline" run --bin bin --out out/$name --device cpu >out.txt 2>err.txt &
  pid=$!
  for _ in $(seq 600); do
    [ "$(ls out/$name/*/*/bench/*.json 2>/dev/null | wc -l)" -ge $groups ] && break
    sleep 0.05
  done
  sleep 0.1
  kill -9 $pid
  wait $pid 2>/dev/null
  folder=$(ls -d out/$name/*/*/)
  check "$folder" "$groups <= len(files) < $whole"
  before=$(stat -c %Y.%i "$folder"bench/*.json | sort)
  kept=$(echo "$before" | wc -l)
  "$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt || { fail "$name: resume"; cat err.txt; }
  check "$folder" "state['status'] == 'complete' and len(files) == $whole"
  check "$folder" "len(csv('roofline.csv')) == 24"
  same=$(comm -12 <(echo "$before") <(stat -c %Y.%i "$folder"bench/*.json | sort) | wc -l)
  [ "$same" -eq "$kept" ] || fail "$name: $same of $kept files untouched"
  [ -e "$folder.part" ] && fail "$name: .part is left"
done

# 4. SIGINT, SIGTERM and SIGHUP: what is there is analysed.
for signal in INT TERM HUP; do
  name=sig$signal
  FAKE_SLEEP=0.05 "$roofline" run --bin bin --out out/$name --device cpu >$name.out 2>$name.err &
  pid=$!
  for _ in $(seq 600); do
    [ "$(ls out/$name/*/*/bench/*.json 2>/dev/null | wc -l)" -ge 2 ] && break
    sleep 0.05
  done
  kill -s $signal $pid
  [ $signal = HUP ] && { sleep 0.05; kill -s HUP $pid; } # a terminal that is gone is told of twice
  wait $pid
  code=$?
  [ $code -eq 1 ] || fail "$name: exit code $code"
  folder=$(ls -d out/$name/*/*/)
  check "$folder" "state['status'] == 'interrupted' and 2 <= len(files) < $whole"
  check "$folder" "len(csv('ceilings.csv')) > 0"
  grep -q "go on with --resume ${folder%/}" $name.err || fail "$name: does not say how to go on"
done

# Also before there is anything.
FAKE_SLEEP=5 "$roofline" run --bin bin --out out/early --device cpu >early.out 2>early.err &
pid=$!
for _ in $(seq 200); do
  grep -q '^\[0/13\]' early.err && break
  sleep 0.05
done
kill -INT $pid
wait $pid
code=$?
[ $code -eq 1 ] || fail "early SIGINT: exit code $code"
check out/early/*/*/ "state['status'] == 'interrupted' and files == [] == csv('ceilings.csv')"
grep -q 'go on with --resume' early.err || fail 'early SIGINT: does not say how to go on'

# 5. A full disk: one line, exit code 2, and what was measured is whole. Needs a file system.
mkdir full
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=160k tmpfs full 2>/dev/null; then
  mounted=$work/full
  "$roofline" run --bin bin --out full --device cpu >out.txt 2>err.txt
  code=$?
  [ $code -eq 2 ] || fail "full disk: exit code $code"
  grep -Ev '^(results: |skipped |\[)' err.txt >rest.txt
  [ "$(wc -l <rest.txt)" -eq 1 ] && grep -q '^roofline: cannot write .*No space left' rest.txt ||
    { fail 'full disk: stderr'; cat rest.txt; }
  folder=$(ls -d full/*/*/)
  check "$folder" "0 < len(files) < $whole"
  mount -o remount,size=8m full
  "$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt || { fail 'full disk: resume'; cat err.txt; }
  check "$folder" "state['status'] == 'complete' and len(files) == $whole"
  umount full && mounted=
else
  echo 'SKIPPED: full disk (cannot mount a tmpfs here)'
fi

# 6. Bad usage.
refused '^roofline: --filter .\(. is not a regular expression' --device cpu --filter '('
refused "^roofline: --filter 'zebra' matches none of [0-9]+ benchmarks" --device cpu --filter zebra
# With no word of a GPU that is left out above it.
refused '^roofline: --filter .\(. is not a regular expression' --filter '('
refused "^roofline: --filter 'zebra' matches none of [0-9]+ benchmarks" --filter zebra
refused '^roofline: --bench nowhere: No such file' --bench nowhere
refused '^roofline: .*--gpu' --gpu x
refused '^roofline: .*--device' --device tpu
refused '^roofline: .*--quick' --quick --full
for seconds in -1 0 x nan; do
  refused "^roofline: --timeout: '$seconds' is not a number of seconds above 0 \(see --help\)$" --timeout $seconds
done
refused '^roofline: .*--nonsense' --nonsense
"$roofline" machine --json | grep -q '"status": "ok"' || refused '^roofline: --device gpu: ' --device gpu
FAKE_LIST=garbage refused '^roofline: bench_ceilings --list:1: not JSON' --device cpu
FAKE_LIST=crash refused '^roofline: bench_ceilings --list: killed by SIGSEGV' --device cpu
one() {
  local regex=$1 code
  shift
  "$roofline" run "$@" >out.txt 2>err.txt
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -Eq "$regex" err.txt; then
    fail "run $*: exit code $code, or not one line like /$regex/:"
    cat err.txt
  fi
}
one '^roofline: no bench_\* programs in empty' --bin empty
one '^roofline: cannot create /dev/null/x/' --bin bin --device cpu --out /dev/null/x
one '^roofline: --resume bin: not a results folder' --bin bin --resume bin
one '^roofline: --resume nowhere: not a results folder' --bin bin --resume nowhere
one '^roofline: .*--resume' --bin bin --resume "$good" --full
cp -r "$good" other
sed -i 's/"name": "[^"]*",/"name": "another-box",/' other/machine.json
one '^roofline: other/machine.json: field name says another-box, this machine has ' --bin bin --resume other
# The same name, as cloud machines of one type have, is not the same machine.
rm -r other
cp -r "$good" other
sed -i 's/"total_bytes": 33554432/"total_bytes": 67108864/' other/machine.json
one '^roofline: other/machine.json: field caches says .*, L3 33554432 bytes \(67108864 in all\), this machine has ' \
  --bin bin --resume other
sed -i 's/"suite"/"sweet"/' other/run.json
one '^roofline: other/run.json: ' --bin bin --resume other

# 7. A finished run is analysed again, not measured again.
before=$(stat -c %Y.%i "$good"bench/* | sort)
"$roofline" run --bin bin --resume "$good" >out.txt 2>err.txt || fail 'resume of a finished run'
[ "$before" = "$(stat -c %Y.%i "$good"bench/* | sort)" ] || fail 'a finished run was measured again'

# 8. Shared cores: samples are set apart, both figures are there, further rounds are run for more.
only='^(fma_peak|dot/avx2)'
FAKE_FAULTS=shared:fma_peak/avx2 measure shared 0 --filter "$only"
check "$folder" "{(r['condition'], r['samples'], r['samples_rejected']) for r in csv('ceilings.csv') if r['exec_unit'] == 'simd-avx2'} == {('quiet', '3', '16'), ('as-lived', '19', '0')}"
check "$folder" "all(round(float(r['measured']) / 1e9 / int(r['threads'])) == {'quiet': 51, 'as-lived': 25}[r['condition']] for r in csv('ceilings.csv') if r['exec_unit'] == 'simd-avx2')"
check "$folder" "{row['round'] for row in bench if 'avx2' in row['name'] and 'fma' in row['name']} == {0, 1, 2}"

# 9. What the parent leaves it with: nobody who reads what is said, signals ignored. The run is
# whole; a summary that is lost is told of.
# deaf NAME EXPECTED_CODE WHAT_TO_DO: the run with its streams as the shell's words say.
deaf() {
  local name=$1 expected=$2 code
  run="$roofline run --bin bin --out out/$name --device cpu --filter ^dot" bash -c "$3"
  code=$?
  [ $code -eq "$expected" ] || fail "$name: exit code $code, expected $expected"
  check out/"$name"/*/*/ "state['status'] == 'complete' and len(csv('roofline.csv')) == 12"
}
deaf fullerr 0 '$run >deaf.out 2>/dev/full'
deaf noerr 0 '$run >deaf.out 2>&-'
deaf noout 0 '$run >&- 2>deaf.err'
deaf noin 0 '$run <&- >deaf.out 2>deaf.err'
deaf nothing 0 '$run <&- >&- 2>&-'
deaf ignoredpipe 0 'trap "" PIPE; $run 2>&1 >deaf.out | head -1 >head.out; exit ${PIPESTATUS[0]}'
deaf pipe 0 '$run 2>&1 >deaf.out | head -1 >head.out; exit ${PIPESTATUS[0]}'
ignoring='import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])'
ignoring=$ignoring deaf nochild 0 'python3 -c "$ignoring" $run >deaf.out 2>&1'
deaf fullout 2 '$run >/dev/full 2>deaf.err'
[ "$(grep '^roofline: ' deaf.err)" = 'roofline: cannot write to stdout: No space left on device' ] ||
  { fail 'fullout: not told'; cat deaf.err; }
"$roofline" specs >/dev/full 2>err.txt
[ $? -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] || fail "specs on a full disk: $(cat err.txt)"

# 10. A probe that met a bad moment is measured again; one that stays below a kernel is said to be.
probe=stream/avx2/f32/access:read/size:
mkdir state
FAKE_STATE=state FAKE_FAULTS=lowonce:$probe measure again 0
[ -s "$folder/bench/again-1.json" ] || fail 'again: the roof was not measured again'
check "$folder" "'again-1' in {row['during'] for row in csv('trace.csv')}"
[ -e "$folder/bench/again-2.json" ] && fail 'again: measured again without need'
check "$folder" "{row['attempt'] for row in bench if 'attempt' in row} == {1}"
check "$folder" "len(files) == $whole + 1 and state['groups_measured'] == $whole"
check "$folder" "all(r['verdict'] == 'ok' for r in csv('roofline.csv'))"
check "$folder" "not any('below-kernel' in r['verdict'] for r in csv('ceilings.csv'))"
mkdir state/dies
FAKE_STATE=state/dies FAKE_FAULTS=lowdies:$probe measure dies 0
grep -q '^failed: stream/avx2' dies.err || { fail 'dies: not told'; cat dies.err; }
check "$folder" "state['status'] == 'complete' and state['failures'] == []"
FAKE_FAULTS=low:$probe measure low 0
check "$folder" "{row.get('attempt', 0) for row in bench} == {0, 1, 2}"
check "$folder" "any('below-kernel' in r['verdict'] and 'dot/avx2' in r['cause'] for r in csv('ceilings.csv'))"
check "$folder" "any(r['verdict'] == 'above-roof' for r in csv('roofline.csv'))"
before=$(ls "$folder"bench)
"$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt || fail 'resume of a run with a doubtful roof'
[ "$before" = "$(ls "$folder"bench)" ] || fail 'a finished run was measured again for its doubtful roof'

# Interrupted while it measures a ceiling again: --resume does not call it complete before it has.
FAKE_SLEEP=0.2 FAKE_FAULTS=scatter:fma_peak/scalar "$roofline" run --bin bin --out out/doubting --device cpu \
  --filter '^fma_peak' >out.txt 2>err.txt &
pid=$!
for _ in $(seq 600); do
  [ "$(ls out/doubting/*/*/bench/*.json 2>/dev/null | wc -l)" -eq 2 ] && break
  sleep 0.02
done
kill -INT $pid
wait $pid
folder=$(ls -d out/doubting/*/*/)
check "$folder" "state['status'] == 'interrupted' and len(files) == 2"
FAKE_FAULTS=scatter:fma_peak/scalar "$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt || fail 'resume of a doubt'
check "$folder" "state['status'] == 'complete' and {row.get('attempt', 0) for row in bench} == {0, 1, 2}"

# Whatever else casts doubt on a ceiling is named, and the ceiling measured twice more. A copy is no
# kernel's roof, so that each has one reason: L1's low makes L2 faster than L1, L2's has no plateau.
faults=scatter:fma_peak/scalar,clock:chase
for size in 4096 8192 16384 24576; do faults+=,low:copy/size:$size/threads:1; done
FAKE_FAULTS=$faults,low:copy/size:131072/threads:2 measure doubt 0 --filter '^(fma_peak|stream|chase)'
doubted="{(r['resource'], r['level'], r['operation'], r['threads']): r['verdict'] for r in csv('ceilings.csv') if r['verdict'] != 'ok'}"
check "$folder" "$doubted == {('compute', '', 'fma_peak', t): 'samples-disagree' for t in '12'} | {('latency', l, 'chase', '1'): 'clock-moved' for l in ('L1', 'L2', 'L3', 'DRAM')} | {('bandwidth', 'L2', 'copy', '1'): 'out-of-order', ('bandwidth', 'L2', 'copy', '2'): 'no-plateau'}"
grep -q '^2 of 64 benchmarks and probes had fewer than 3 quiet samples, or samples that disagree, when their further rounds (4 s in all) were spent$' doubt.out ||
  fail 'doubt: what the further rounds left is not told'
"$roofline" report --text "$folder" | grep -qx '2 of 64 benchmarks and probes had fewer than 3 quiet samples, or samples that disagree' ||
  fail 'doubt: report --text does not tell how many want samples'
check "$folder" "{row['round'] for row in bench if 'fma_peak/scalar' in row['name'] and 'attempt' not in row} == {0, 1, 2}"
check "$folder" "{row['name'].split('/')[0] for row in bench if row.get('attempt') == 2} == {'fma_peak', 'chase', 'stream'}"
check "$folder" "{row['name'].split('/')[4].split(':')[1] for row in bench if row.get('attempt') == 2 and 'copy' in row['name'] and 'threads:1/' in row['name']} == {'4096', '8192', '16384', '24576', '65536', '131072', '262144'}"
exit $failed
