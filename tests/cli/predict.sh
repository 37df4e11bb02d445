# roofline predict: every form as text and JSON against golden files, and one line for what is wrong.
set -u
roofline=$1/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/predict" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cp -r "$here/machine" .
failed=0

# golden NAME CODE ARGUMENTS…: exit code, nothing on stderr, and stdout as in NAME.
# GOLDEN_UPDATE=1 writes it anew instead.
golden() {
  local name=$1 expected=$2 code
  shift 2
  "$roofline" predict "$@" >out 2>err
  code=$?
  if [ $code -ne "$expected" ] || [ -s err ]; then
    echo "predict $*: exit code $code, expected $expected and nothing on stderr:"
    cat err
    failed=1
  fi
  if [ -n "${GOLDEN_UPDATE:-}" ]; then cp out "$here/$name"; fi
  diff -u "$here/$name" out || { echo "$name differs (predict $*)"; failed=1; }
}

# both NAME CODE ARGUMENTS…: NAME.txt and, with --json, NAME.json.
both() {
  local name=$1 expected=$2
  shift 2
  golden "$name.txt" "$expected" "$@"
  golden "$name.json" "$expected" "$@" --json
}

# bad REGEX ARGUMENTS…: exit code 2 and one line on stderr that matches, nothing on stdout.
bad() {
  local regex=$1 code
  shift
  "$roofline" predict "$@" >out 2>err
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -Eq "$regex" err || [ -s out ]; then
    echo "predict $*: exit code $code, expected 2 and one line like /$regex/:"
    cat out err
    failed=1
  fi
}

# same ARGUMENTS… -- ARGUMENTS…: both print the same.
same() {
  local first=()
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  shift
  "$roofline" predict "${first[@]}" >first 2>&1
  "$roofline" predict "$@" >second 2>&1
  diff -u first second || { echo "not the same: ${first[*]} and $*"; failed=1; }
}

v5e=(--chip tpu-v5e --peak 1.97e14 --bandwidth 8.2e11)
shape=(--B 64 --D 4096 --F 4096)
book=(--model llama3-70b --chip tpu-v5e --bandwidth 8.1e11 --params 70e9)
int8=(--weights s8 --kv s8)

both matmul 0 matmul "${shape[@]}" --x bf16 --y int8 "${v5e[@]}"
both matmul_machine 0 matmul "${shape[@]}" --y s8 --machine machine
both matmul_batched 0 matmul "${shape[@]}" --x s8 --batched --chip tpu-v5e
both matmul_tile 0 matmul "${shape[@]}" --tile 32x128x64 --output-read --chip h100-sxm
golden matmul_given.txt 0 matmul "${shape[@]}" --peak 1e15 --bandwidth 3.35e12 --step 1ms \
  --params 2e7
both dot 0 dot --n 1000000 --dtype bf16 --chip h100-sxm
golden dot_mxu.txt 0 dot --n 1000000 --dtype int8 --chip tpu-v5e
both attention 0 attention --batch 8 --context 8192 --heads 32 --kv-heads 8 --head-dim 128 \
  --kv int8 --machine machine/ceilings.csv
both sharded 0 sharded-matmul --B 128 --D 8192 --F 4096 --chips 2 "${v5e[@]}"
both sharded_none 0 sharded-matmul --B 128 --D 8192 --F 4096 --chips 4 --shard F --chip h100
golden sharded_int8.txt 0 sharded-matmul --B 128 --D 8192 --F 4096 --chips 4 --shard B \
  --collective all-gather --y s8 "${v5e[@]}"
golden sharded_gather.txt 0 sharded-matmul --B 128 --D 8192 --F 4096 --chips 4 --shard B \
  --collective all-gather --x int8 --link-bandwidth 1e11 "${v5e[@]}"
both serve 0 serve "${book[@]}" "${int8[@]}" --context 8192 --chips 8 --batch 32 --prefill 8192 \
  --decode 512 --mfu 0.4 --price 1.2 --axes 2
both serve_machine 0 serve --model llama3-8b --machine machine
golden serve_int4.txt 0 serve "${book[@]}" --weights int4 --kv int4 --chips 4 --batch 43 \
  --step 19ms --decode 512
both serve_unfit 1 serve "${book[@]}" "${int8[@]}" --chips 4 --batch 32
both serve_limit 0 serve "${book[@]}" "${int8[@]}" --latency-limit 15ms --price 1.2
both serve_target 0 serve "${book[@]}" "${int8[@]}" --target-throughput 5000
both serve_none 1 serve "${book[@]}" "${int8[@]}" --latency-limit 15us
golden serve_none_target.txt 1 serve "${book[@]}" "${int8[@]}" --target-throughput 1e9 --latency-limit 1s
golden serve_one_chip.txt 0 serve --model llama3-8b --chip h100-sxm --batch 64 --context 1024 \
  --link-bandwidth 1e9
golden sweep_batch.csv 0 sweep batch --sizes 1024 --max-batch 8 --machine machine
golden sweep_batch_shape.csv 0 sweep batch --sizes 256x1024,512 --max-batch 1 --chip h100
golden sweep_serve_many.csv 0 sweep serve "${book[@]}" --memory 16e9 --contexts 8192 --max-batch 200000
golden sweep_serve.csv 0 sweep serve "${book[@]}" "${int8[@]}" --chips 8 --contexts 2048,8192 \
  --max-batch 64

# Spellings of the same types, units of the same time, folder and file of the same machine.
same matmul "${shape[@]}" --x bf16 --y s8 --compute bf16 "${v5e[@]}" -- \
  matmul "${shape[@]}" --x bfloat16 --y int8 --out bf16 --compute bf16 "${v5e[@]}"
same matmul "${shape[@]}" --x f32 --step 0.019s --machine machine -- \
  matmul "${shape[@]}" --x fp32 --step 19000us --machine machine/ceilings.csv --device cpu
cat >my.json <<'JSON'
{"layers": 80, "d_model": 8192, "d_ff": 28672, "heads": 64, "kv_heads": 8, "head_dim": 128,
 "vocabulary": 128256}
JSON
same serve --model llama3-70b --chip h200 --chips 2 --json -- \
  serve --model my.json --chip h200 --chips 2 --json

# A sweep with --out writes the CSV; whether pictures are drawn depends on Python.
"$roofline" predict sweep batch --chip h100 --out sweep.csv >out 2>err ||
  { echo "sweep: exit code $?"; cat err; failed=1; }
head -1 out | grep -qx sweep.csv || { echo 'sweep.csv not named:'; cat out; failed=1; }
[ "$(wc -l <sweep.csv)" -eq 1025 ] || { echo 'sweep.csv: not 2 x 512 rows'; failed=1; }

# Nothing that a results folder holds is written over, nor put beside it, whether it is read or not.
cp -r machine folder
for out in folder/roofline.csv folder/new.csv; do
  for from in '--machine folder' '--machine machine' '--machine folder/ceilings.csv' '--chip h100'; do
    # shellcheck disable=SC2086
    bad "^roofline: --out $out: lies in a results folder" sweep batch $from --out "$out"
  done
done
bad '^roofline: --out folder/ceilings.csv: is read by the same command' \
  sweep batch --machine folder/ceilings.csv --out folder/ceilings.csv
diff -r folder machine || { echo 'a sweep wrote over a results folder'; failed=1; }

for help in '' matmul dot attention sharded-matmul serve sweep 'sweep batch' 'sweep serve'; do
  # shellcheck disable=SC2086
  "$roofline" predict $help --help >out 2>&1 || { echo "predict $help --help: $?"; failed=1; }
done
for form in matmul dot attention sharded-matmul serve 'sweep batch' 'sweep serve'; do
  for flag in --peak --bandwidth --step --params --compute; do
    # shellcheck disable=SC2086
    "$roofline" predict $form --help | grep -q -- "$flag " || { echo "$form: no $flag"; failed=1; }
  done
done

h100=(--chip h100-sxm)
bad '^roofline: A subcommand is required'
bad "^roofline: unknown subcommand 'softmax'" softmax
bad "^roofline: unknown subcommand 'nonsense'" sweep nonsense
bad '^roofline: --F is required' matmul --B 1 --D 1 "${h100[@]}"
bad '^roofline: give --chip NAME or --machine DIR, or both' matmul "${shape[@]}"
bad '^roofline: give --chip NAME or --machine DIR, or both' matmul "${shape[@]}" --peak 1e15
bad '^roofline: --chip excludes --machine' matmul "${shape[@]}" "${h100[@]}" --machine machine
bad "^roofline: unknown chip 'h101'" matmul "${shape[@]}" --chip h101
bad '^roofline: cannot read nowhere: No such file' matmul "${shape[@]}" --machine nowhere
bad "^roofline: machine/ceilings.csv: no measured .* of device 'gpu'" \
  matmul "${shape[@]}" --machine machine --device gpu
bad '^roofline: tpu-v5e has no f32 peak; it has bf16, s8 on mxu' \
  matmul "${shape[@]}" --x f32 --chip tpu-v5e
bad '^roofline: example-4c has no bf16 peak; it has f32, f64, s8 on' \
  matmul "${shape[@]}" --compute bf16 --machine machine
bad '^roofline: h100-sxm has no s4 peak; it has .*bf16' \
  serve --model llama3-8b --compute int4 "${h100[@]}"
bad "^roofline: h100-sxm has no bf16 peak on unit 'mxu'" \
  matmul "${shape[@]}" --exec-unit mxu "${h100[@]}"
for flag in --x --y --out --compute; do
  bad "^roofline: $flag 'f99' is not an element type" matmul "${shape[@]}" $flag f99 "${h100[@]}"
done
bad "^roofline: --x 'bf16xs8' is not an element type" \
  matmul "${shape[@]}" --x bf16xs8 "${h100[@]}"
for value in 0 -1 1.5 x '' 1e3 nan; do
  bad "^roofline: --D '$value' is not a whole number of at least 1" \
    matmul --B 1 --D "$value" --F 1 "${h100[@]}"
done
bad "^roofline: --D '9223372036854775808' is too large" \
  matmul --B 1 --D 9223372036854775808 --F 1 "${h100[@]}"
for flag in --peak --bandwidth --params; do
  for value in 0 -1 nan inf 1e999 x 1,5 0x1p3; do
    bad "^roofline: $flag '$value' is not a finite number above 0" \
      matmul "${shape[@]}" $flag "$value" "${h100[@]}"
  done
done
for flags in '--params 1e308' '--peak 1e-300'; do
  bad '^roofline: the shape, --params, --peak or --bandwidth is out of range' \
    matmul "${shape[@]}" "${h100[@]}" $flags
done
bad '^roofline: the shape, --params' dot --n 10 "${h100[@]}" --params 0.3
for form in serve 'sweep serve'; do
  bad '^roofline: batch, context, params, peak or bandwidth is out of range' \
    $form --model llama3-8b "${h100[@]}" --peak 1e-300
done
for value in 15 15m 15msec ms -15ms 0ms nanms 1e999s ' 15ms' '15 ms' 1h; do
  bad "^roofline: --step '$value' is not a time above 0 with its unit" \
    matmul "${shape[@]}" --step="$value" "${h100[@]}"
  bad "^roofline: --latency-limit '$value' is not a time above 0 with its unit" \
    serve --model llama3-8b --latency-limit="$value" "${h100[@]}"
done
for tile in 128 128x128 0x1x1 1x1x1x1 axbxc 128x128x; do
  bad "^roofline: --tile '" matmul "${shape[@]}" --tile $tile "${h100[@]}"
done
bad '^roofline: --(tile|batched) excludes --(tile|batched)' \
  matmul "${shape[@]}" --tile 1x1x1 --batched "${h100[@]}"
bad '^roofline: kv_heads 3 does not divide heads 32' \
  attention --context 1 --heads 32 --kv-heads 3 --head-dim 128 "${h100[@]}"
bad '^roofline: 3 chips do not divide D = 4096' \
  sharded-matmul "${shape[@]}" --chips 3 "${h100[@]}"
bad '^roofline: --collective all-gather does not go with --shard D' \
  sharded-matmul "${shape[@]}" --chips 2 --collective all-gather "${h100[@]}"
bad "^roofline: --collective 'gossip' is none of" \
  sharded-matmul "${shape[@]}" --chips 2 --collective gossip "${h100[@]}"
bad '^roofline: --shard: .*' sharded-matmul "${shape[@]}" --chips 2 --shard E "${h100[@]}"
bad '^roofline: no one-way bandwidth of a link is known of example-4c: give --link-bandwidth' \
  sharded-matmul "${shape[@]}" --chips 2 --x f32 --machine machine

bad "^roofline: unknown model 'llama3-9b'; known: llama3-405b, llama3-70b, llama3-8b, or a FILE" \
  serve --model llama3-9b "${h100[@]}"
bad '^roofline: cannot read nowhere.json: No such file' serve --model nowhere.json "${h100[@]}"
head -c 100 my.json >cut.json
bad '^roofline: cut.json:2: not JSON, or cut off' serve --model cut.json "${h100[@]}"
: >empty.json
bad '^roofline: empty.json: ' serve --model empty.json "${h100[@]}"
echo '[1]' >list.json
bad '^roofline: list.json: not a JSON object' serve --model list.json "${h100[@]}"
sed 's/"layers": 80, //' my.json >wrong.json
bad "^roofline: wrong.json: no 'layers'" serve --model wrong.json "${h100[@]}"
sed 's/"layers": 80/"layers": 40, &/' my.json >wrong.json
bad "^roofline: wrong.json: 'layers' stands twice" serve --model wrong.json "${h100[@]}"
for value in 0 -80 8.5 NaN '"80"' 99999999999999999999 1e9999 null; do
  sed "s/\"layers\": 80/\"layers\": $value/" my.json >wrong.json
  bad "^roofline: wrong.json: ('layers' is .*, not a whole number from 1 to 1e9|.*not JSON)" \
    serve --model wrong.json "${h100[@]}"
done
bad '^roofline: batch, context, params, peak or bandwidth is out of range' serve --model llama3-8b "${h100[@]}" \
  --params 1e308 --weights f64
bad '^roofline: --chips excludes --latency-limit|--latency-limit excludes --chips' \
  serve --model llama3-8b "${h100[@]}" --latency-limit 15ms --chips 8
bad 'excludes' serve --model llama3-8b "${h100[@]}" --latency-limit 15ms --step 15ms
bad '^roofline: no search goes beyond 1e9 chips' \
  serve --model llama3-8b "${h100[@]}" --latency-limit 1ns --max-chips 9223372036854775807
bad '^roofline: the memory of a chip is not known' \
  serve --model llama3-8b --peak 1e12 --bandwidth 1e11 --latency-limit 15ms
echo '{"memory": ' >machine/machine.json
bad '^roofline: machine/machine.json:.*not JSON' serve --model llama3-8b --machine machine
sed -i '4s/400000000000/-1/' machine/ceilings.csv
bad "^roofline: machine/ceilings.csv:4: column 'measured': -1 is not above 0" \
  matmul "${shape[@]}" --machine machine

bad "^roofline: --sizes '' is not a whole number" sweep batch "${h100[@]}" --sizes 1024,
bad "^roofline: --sizes '' is not a whole number" sweep batch "${h100[@]}" --sizes 1024x
bad '^roofline: --max-batch 1000000 makes more than' sweep batch "${h100[@]}" --max-batch 1000000
bad '^roofline: --max-batch 9223372036854775807: no sweep goes beyond 1000000000' \
  sweep serve --model llama3-8b "${h100[@]}" --max-batch 9223372036854775807
bad '^roofline: --out x.txt: not a .csv' sweep batch "${h100[@]}" --out x.txt
bad '^roofline: cannot write .*nowhere/x.csv' sweep batch "${h100[@]}" --out nowhere/x.csv
bad "^roofline: --contexts 'x' is not a whole number" \
  sweep serve --model llama3-8b "${h100[@]}" --contexts x
exit $failed
