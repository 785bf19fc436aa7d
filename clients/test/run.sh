#!/bin/sh
# Validates the OpenAPI documents, generates clients for Python and TypeScript from the member's, and tries them and the Go
# package on a cluster of `bellwether up`. What is not installed is skipped with a line that says so.
#
# usage: clients/test/run.sh BELLWETHER FOLDER     the command; and where to generate
set -eu
bellwether=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
root=$(realpath "$(dirname "$0")/../..")
log=$folder/up.log
"$bellwether" up --plain --nodes 3 --for 300s > "$log" 2>&1 &
up=$!
trap 'kill $up 2>/dev/null || true' EXIT
tries=0
until grep -q '^Ctrl-C' "$log"; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] || { echo "the cluster does not start:"; cat "$log"; exit 1; }
  sleep 0.1
done
address=$(awk '$1 == "member" { print $5; exit }' "$log")
address=${address%/}

if python3 -m venv "$folder/venv" >/dev/null 2>&1 \
  && "$folder/venv/bin/pip" -q install openapi-spec-validator openapi-python-client >/dev/null 2>&1; then
  for document in member up explorer; do "$folder/venv/bin/openapi-spec-validator" "$root/web/openapi/$document.json"; done
  rm -rf "$folder/python"
  "$folder/venv/bin/openapi-python-client" generate --path "$root/web/openapi/member.json" --meta none \
    --output-path "$folder/python/bellwether_member" >"$folder/python.log" 2>&1
  PYTHONPATH=$folder/python "$folder/venv/bin/python" "$root/clients/test/client.py" "$address"
else
  echo "skipped: the generator for Python cannot be installed (python3 with venv and PyPI are needed)"
fi

if command -v npm >/dev/null && mkdir -p "$folder/typescript" && cd "$folder/typescript" \
  && npm install --silent --no-save --prefix . openapi-typescript@7 openapi-fetch@0 typescript@5 >/dev/null 2>&1; then
  npx openapi-typescript "$root/web/openapi/member.json" -o member.d.ts >/dev/null 2>&1
  cp "$root/clients/test/client.ts" .
  echo '{"type":"module"}' > package.json
  npx tsc --strict --target es2022 --module nodenext --moduleResolution nodenext --lib es2022,dom,dom.iterable \
    --skipLibCheck client.ts
  node client.js "$address"
else
  echo "skipped: the generator for TypeScript cannot be installed (npm is needed)"
fi

if command -v go >/dev/null; then
  cd "$root/clients/go" && BELLWETHER=$bellwether go test -count=1 ./...
else
  echo "skipped: no Go here; apt-get install golang-go installs it"
fi
