#!/usr/bin/env bash
# Compiles the tables of a report into a PDF with Debian's LaTeX, or says what LaTeX does not like.
#   scripts/compile_tables.sh TABLES.tex OUT.pdf
set -euo pipefail
tables=$(realpath "${1:?usage: scripts/compile_tables.sh TABLES.tex OUT.pdf}")
out=$(realpath -m "${2:?usage: scripts/compile_tables.sh TABLES.tex OUT.pdf}")
"$(dirname "$0")/install-packages.sh" latex
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/main.tex" <<EOF
\\documentclass{article}
\\usepackage[landscape,margin=1cm]{geometry}
\\usepackage{booktabs}
\\usepackage[table]{xcolor}
\\usepackage{graphicx}
\\begin{document}
\\input{$tables}
\\end{document}
EOF
cd "$folder"
pdflatex -interaction=nonstopmode -halt-on-error main.tex >log.txt || { grep -A5 '^!' log.txt; exit 1; }
if grep -q '^Overfull' log.txt; then
  grep '^Overfull' log.txt
  exit 1
fi
mv main.pdf "$out"
echo "$out: $(grep -oE '[0-9]+ pages?' log.txt | tail -1)"
