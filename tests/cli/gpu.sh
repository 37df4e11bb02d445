# roofline run on a made-up driver: several GPUs, MIG, a driver that is too old, programs for CPUs only.
set -u
bin=$(realpath "$1")
roofline=$bin/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/fake_bin.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fake_bin bench_ceilings bench_dot
mkdir driver && ln -s "$bin/../tests/libfake_nvml.so" driver/libnvidia-ml.so.1
export LD_LIBRARY_PATH=$work/driver
unset CUDA_VISIBLE_DEVICES

# run NAME CODE LINE ARGUMENTS…: exit code and that line on stderr; where the code is 2, no other.
run() {
  local name=$1 expected=$2 line=$3 code
  shift 3
  rm -rf out
  "$roofline" run --bin bin --out out --filter '^(fma_peak|dot/(scalar|sm80))' "$@" >out.txt 2>err.txt
  code=$?
  if [ $code -ne "$expected" ] || ! grep -Fxq -- "$line" err.txt ||
    { [ $code -eq 2 ] && [ "$(wc -l <err.txt)" -ne 1 ]; }; then
    echo "FAILED: $name: exit code $code, expected $expected and the line '$line'"
    cat err.txt
    failed=1
  fi
}

two='0 (NVIDIA H100 80GB HBM3), 1 (NVIDIA H100 80GB HBM3)'
cpus='these programs were built without nvcc, for CPUs only'
run 'CPU programs, all' 0 "GPU left out: $cpus"
run 'CPU programs, gpu' 2 "roofline: --device gpu: $cpus" --device gpu

old='NVIDIA driver too old: it supports CUDA 11.8, this build needs CUDA 13.0 (built with 13.0)'
export FAKE_GPU="$old"
run 'old driver, all' 0 "skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: $old"
run 'old driver, gpu' 2 "roofline: --device gpu: nothing to measure: $old" --device gpu
FAKE_NVML_FAULT=18 run 'library of another version' 0 \
  'GPU left out: NVIDIA driver present but unusable: Driver/library version mismatch'

export FAKE_GPU='sees %' FAKE_NVML_COUNT=2
run 'two GPUs' 0 '2 GPUs: measuring 0 (NVIDIA H100 80GB HBM3); --gpu picks another'
grep -Fxq 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: sees 0' err.txt || { echo 'FAILED: not GPU 0'; failed=1; }
run 'by index' 0 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: sees 1' --gpu 1
run 'by UUID' 0 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: sees 1' --gpu GPU-1000aaaa-1111-2222-3333-444455556666
grep -Fq '"gpu": "1"' out/*/*/run.json || { echo 'FAILED: no index in run.json'; failed=1; }
grep -rFq 1000aaaa out && { echo 'FAILED: a UUID is in the folder'; failed=1; }
CUDA_VISIBLE_DEVICES=1,0 run 'by the environment' 0 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: sees 1'
FAKE_GPU='blocking: @' CUDA_LAUNCH_BLOCKING=1 run 'launches that wait' 0 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: blocking: 0'
run 'no such index' 2 "roofline: --gpu 2: no such GPU; here: $two" --gpu 2
run 'no such UUID' 2 "roofline: --gpu GPU-9: no such GPU; here: $two" --gpu GPU-9
CUDA_VISIBLE_DEVICES=-1 run 'hidden' 0 "GPU left out: CUDA_VISIBLE_DEVICES=-1: no such GPU; here: $two"
FAKE_NVML_COUNT=1 FAKE_NVML_MIG=1 run 'MIG' 0 \
  "GPU 0 is cut into slices (MIG): one is measured, what is advertised is the whole chip's; --gpu MIG-<UUID> picks one"
run 'a slice' 0 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: sees MIG-12ab' --gpu MIG-12ab

# Every GPU at once: a folder each, what both say once, and how they stand beside each other.
all_gpus() {
  rm -rf out links.log
  "$roofline" run --bin bin --out out --gpu all --filter '^(fma_peak|link|dot/sm80)' "$@" >out.txt 2>err.txt
}
export FAKE_GPU='' FAKE_GPU_CEILINGS=$work/links.log FAKE_NVML_COUNT=3
FAKE_SLOW_GPU=1 FAKE_SLEEP=0.3 all_gpus || { echo "FAILED: all GPUs: exit code $?"; cat err.txt; failed=1; }
[ "$(cat out/nvidia-h100-80gb-hbm3/*/run.json | grep -E '"(gpu|device)"' | sort | tr -d ' \n')" = \
  '"device":"gpu","device":"gpu","device":"gpu","gpu":"0","gpu":"1","gpu":"2",' ] ||
  { echo 'FAILED: all GPUs: not a folder each'; failed=1; }
grep -Eq '^GPU 1 +(WARN|FAIL) +66\.7 % +gpu f32 cuda-core +out/' out.txt && grep -Eq '^gpu f32 cuda-core +50\.0 TFLOP/s +100\.0 % +66\.7 % +100\.0 %$' out.txt &&
  [ "$(grep -Ec '^GPU [02] ' out.txt)" -eq 2 ] || { echo 'FAILED: no ranking'; cat out.txt; failed=1; }
[ "$(grep -c '^GPU [0-2]: results: out/' err.txt)" -eq 3 ] && ! grep -v '^GPU [0-2]: ' err.txt ||
  { echo 'FAILED: all GPUs: words'; cat err.txt; failed=1; }
# Links are measured one at a time, all else side by side.
[ "$(uniq links.log | tr '\n' ' ')" = "$(tr '\n' ' ' <links.log)" ] && [ "$(wc -l <links.log)" -ge 6 ] ||
  { echo 'FAILED: links at the same time'; cat links.log; failed=1; }
CUDA_VISIBLE_DEVICES=2,GPU-0000 all_gpus
[ "$(grep -ho '"gpu": "."' out/*/*/run.json | sort | tr '\n' ' ')" = '"gpu": "0" "gpu": "2" ' ] ||
  { echo 'FAILED: all GPUs of the environment'; cat err.txt; failed=1; }
FAKE_FAULTS=wrong:dot/sm80 all_gpus
[ $? -eq 1 ] && [ "$(grep -c ': failed: dot/sm80_naive.*: wrong result: 1 instead of 2$' err.txt)" -eq 1 ] &&
  grep -q '^GPU 2 ' out.txt || { echo 'FAILED: all GPUs: a wrong kernel'; cat err.txt out.txt; failed=1; }
# A signal comes to all of them, who write what they have.
rm -r out err.txt
FAKE_SLEEP=2 "$roofline" run --bin bin --out out --gpu all --filter '^(fma_peak|dot/sm80)' >out.txt 2>err.txt &
for ((i = 0; i < 100; ++i)); do [ "$(cat err.txt 2>/dev/null | grep -c ': results: ')" -eq 3 ] && break; sleep 0.1; done
kill -TERM $!
wait $!
[ $? -eq 1 ] && [ "$(grep -c '^GPU [0-2]: interrupted: go on with --resume out/' err.txt)" -eq 3 ] &&
  [ "$(grep -l '"status": "interrupted"' out/*/*/run.json | wc -l)" -eq 3 ] ||
  { echo 'FAILED: all GPUs, interrupted'; cat err.txt; failed=1; }
"$roofline" run --bin bin --out out --gpu all --filter '(' 2>err.txt
[ $? -eq 2 ] && [ "$(sed 's/^GPU [0-2]: //' err.txt)" = "roofline: --filter '(' is not a regular expression" ] ||
  { echo 'FAILED: all GPUs: a bad filter'; cat err.txt; failed=1; }
run 'all, for the CPU' 2 'roofline: --gpu all: not with --device cpu' --gpu all --device cpu
run 'one, for the CPU' 2 'roofline: --gpu 1: not with --device cpu' --gpu 1 --device cpu
FAKE_NVML_FAULT=18 run 'all, no GPU' 2 'roofline: --gpu all: NVIDIA driver present but unusable: Driver/library version mismatch' --gpu all
unset FAKE_GPU_CEILINGS

# Hardware counters: in a full run, and where they may not be read in one line.
export FAKE_GPU='' FAKE_NVML_COUNT=1
no='CUPTI: cuptiRangeProfilerEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES'
FAKE_COUNTERS=$no run 'no permission' 0 "GPU counters left out: $no" --device gpu --full
[ -d out/nvidia-h100-80gb-hbm3 ] || { echo 'FAILED: the folder has not the name of the GPU'; failed=1; }
# counted NAME COUNT: so many rows by counters are in roofline.csv.
counted() {
  local rows
  rows=$(grep -c ',HBM,8200,counter,' out/*/*/roofline.csv)
  [ "$rows" -eq "$2" ] && [ "$(grep -c ',HBM,8000,model,' out/*/*/roofline.csv)" -eq 1 ] && return
  echo "FAILED: $1: $rows rows by counters"
  failed=1
}
counted 'no permission' 0
for suite in quick full; do
  rm -rf out
  "$roofline" run --bin bin --out out --device gpu --$suite --filter '^dot/' >out.txt 2>err.txt ||
    { echo "FAILED: $suite run"; cat err.txt; failed=1; }
  counted $suite $([ $suite = full ] && echo 1 || echo 0)
done
grep -Fxq '  HBM bytes: 1 of 1 within 3 % of the model, furthest 1.025 times it: dot/sm80_naive/f32/N:1000/temp:cold/threads:132' out.txt ||
  { echo 'FAILED: not in the summary'; cat out.txt; failed=1; }

# Without NVML the programs say whether CUDA has a GPU.
no='NVIDIA driver present but unusable: Driver/library version mismatch'
export FAKE_NVML_FAULT=18
run 'CUDA without NVML' 0 "$no: the GPU is measured without power, throttle reasons and trace"
grep -q ',gpu,.*,dot,sm80_naive,' out/*/*/roofline.csv || { echo 'FAILED: no row without NVML'; failed=1; }
run 'by index without NVML' 0 "$no: the GPU is measured without power, throttle reasons and trace" --gpu 1
grep -Fq '"gpu": "1"' out/*/*/run.json || { echo 'FAILED: not the GPU that was named'; failed=1; }
run 'by UUID without NVML' 2 "roofline: --gpu GPU-1000aaaa: $no: give the GPU's index" --gpu GPU-1000aaaa
FAKE_GPU='sees %' run 'neither' 2 "roofline: --device gpu: $no" --device gpu
unset FAKE_NVML_FAULT

# Ours and the library's take turns where the GPU holds the data of both and takes two processes.
export FAKE_GPU_LIBRARY=1
# rounds NAME LIST: the rounds that rows on the GPU are of.
rounds() {
  rm -rf out
  "$roofline" run --bin bin --out out --device gpu --filter '^dot/' >out.txt 2>err.txt ||
    { echo "FAILED: $1"; cat err.txt; failed=1; }
  [ "$(grep -oh '"round":[0-9]' out/*/*/bench/dot*gpu.json | sort -u | tr -dc 0-9)" = "$2" ] && return
  echo "FAILED: $1: other rounds"
  failed=1
}
rounds 'room for both' 0
FAKE_NVML_FREE=11000000000 rounds 'little memory' 012
FAKE_NVML_MODE=3 rounds 'exclusive process' 012
# What finds no memory in turns is measured without the others.
FAKE_FAULTS=crowded:dot/cublas rounds 'crowded' 0
[ "$(grep -o '"name":"dot/cublas' out/*/*/bench/dot*gpu.json | wc -l)" -eq 9 ] &&
  grep -Fq '"skipped": []' out/*/*/run.json || { echo 'FAILED: crowded: left out'; failed=1; }
# Whatever throttled any sample stands in the row, also where samples came from several processes.
FAKE_NVML_FREE=11000000000 FAKE_FAULTS=throttle:dot/sm80 rounds 'throttled' 012
grep -q ',gpu,.*,power-cap+hardware-thermal,' out/*/*/roofline.csv || { echo 'FAILED: throttle reasons'; failed=1; }
unset FAKE_GPU_LIBRARY

# The time left at the start: one process of one benchmark on the GPU, 1.7 s.
rm -rf out
"$roofline" run --bin bin --out out --device gpu --filter '^dot/' >out.txt 2>err.txt
grep -q '^\[0/1\] 0:02 left, ' err.txt || { echo 'FAILED: time left'; cat err.txt; failed=1; }

# NVML stays open from the first look to the end, whatever is looked up in between, and is not opened
# anew for the trace.
rm -rf out
FAKE_SLEEP=1.5 FAKE_NVML_LOG=nvml.log "$roofline" run --bin bin --out out --device gpu --filter '^dot/' >out.txt 2>err.txt
awk '/init/ { open++; inits++ } /shutdown/ { open-- } open == 0 { closed++ }
     END { exit !(inits == 3 && open == 0 && closed == 1) }' nvml.log ||
  { echo 'FAILED: NVML was opened anew'; cat nvml.log; failed=1; }
[ "$(grep -Ec '^[0-9.]+,gpu,.*,1755000000,2600000000,512\.5,.*0x44' out/*/*/trace.csv)" -ge 2 ] ||
  { echo 'FAILED: no trace of the GPU'; cat out/*/*/trace.csv; failed=1; }

# A device that was asked for and gave nothing: skipped benchmark by benchmark, but no success.
rm -rf out
FAKE_FAULTS=skip:dot/sm80 "$roofline" run --bin bin --out out --device gpu --filter '^dot/' >out.txt 2>err.txt
code=$?
[ $code -eq 1 ] && grep -Fxq 'failed: not one benchmark on the gpu gave a time' out.txt &&
  grep -Fxq 'skipped dot/sm80_naive/f32/N:1000/temp:cold/threads:132: not on this machine' out.txt &&
  grep -Fq '"status": "failed"' out/*/*/run.json ||
  { echo "FAILED: nothing from the GPU: exit code $code"; cat out.txt; failed=1; }
exit $failed
