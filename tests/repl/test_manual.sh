#!/bin/bash
# The manual and the completions of shells: all names of the tables are in them, and they are
# well formed. Source: interaction 4 (Help), 16.
. tests/repl/session.sh

why() { cat why 2>/dev/null; }

for kind in man html bash zsh fish; do
    timeout "$limit" "$MOONLOOP" --manual=$kind >manual.$kind 2>why
    verdict "writes $kind"
done
"$MOONLOOP" --manual=pdf >out 2>why
[ $? = 2 ] && [ ! -s out ] && grep -q 'man, html, bash, zsh or fish' why
verdict 'refuses another kind by name'

# ---- the chapters that are played come first; their pictures are drawn meanwhile
grep -oE '<h2 id="[a-z-]+"' manual.html | head -n 3 | cut -d'"' -f2 | tr '\n' ' ' >why
[ "$(cat why)" = 'story from-tvm from-halide ' ]
verdict 'begins with the story, then the pages from TVM and from Halide'
sed '/<h2 id="from-tvm"/,$d' manual.html >story
grep -q 'reorder  i_0, j_0, k' story && grep -q 'iter-not-parallel' story && grep -q '^ok   C equals v0' story && grep -q 'replays to matmul' story
verdict 'the story is what the program says'
for page in from-tvm from-halide; do
    sed -n "/<h2 id=\"$page\"/,/<h2 id=\"[^f]/p" manual.html >page
    [ "$(grep -c '<tr><td><pre>' page)" -gt 20 ] && [ "$(grep -c '^ok   ' page)" -ge 2 ]
    verdict "the page $page has its table, and examples that were checked"
done
if [ -x "${MOONLOOP_DRAW-}" ]; then
    [ "$(grep -c '<picture>.*srcset="data:image/svg+xml,.*%3C%2Fsvg%3E.*src="data:image/svg+xml,.*%3C%2Fsvg%3E' manual.html)" -ge 8 ] &&
        [ "$(grep -c '<picture>' story)" -ge 5 ] && ! grep -q 'A picture belongs here' manual.html
    verdict 'pictures stand in the page, for light and for dark'
else
    echo 'skip pictures stand in the page, for light and for dark: no moonloop-draw'
fi
# A line that does not do what it says stops the writing: without a folder nothing can be played.
TMPDIR=$PWD/nowhere "$MOONLOOP" --manual=html >out 2>why
[ $? != 0 ] && [ ! -s out ] && grep -q 'folder' why
verdict 'a manual that cannot be played is not written'

# ---- complete: every option, command, primitive, key, setting and code
"$MOONLOOP" --help | grep -oE -- '--[a-z-]+' | sort -u >options
"$MOONLOOP" --codes | awk '{ print $1 }' >codes
"$MOONLOOP" -b -e 'for _, p in ipairs(moon.primitives()) do print(p.name) end' >primitives
"$MOONLOOP" -b -e ':help commands' | grep -oE '^ +:[a-z-]+' | tr -d ' ' >commands
missing() { # FILE WORDS: the words that the file does not hold, with roff's \- as -
    sed 's/\\-/-/g; s/&gt;/>/g' "$1" >flat
    while read -r w; do grep -qF -- "$w" flat || echo "$w is not in $1"; done <"$2" >why
    [ -s "$2" ] && [ ! -s why ]
}
for what in options codes primitives commands; do
    missing manual.man $what && missing manual.html $what
    verdict "tells of all $what"
done
for kind in bash zsh; do
    missing manual.$kind options
    verdict "$kind completes all options"
done
sed 's/^--/-l /' options >fish_options
missing manual.fish fish_options
verdict 'fish completes all options'

# ---- well formed: an example that is about bytes that are no text shows where they are
cat >utf8.lua <<'E'
for _, file in ipairs { "manual.man", "manual.html", "manual.bash", "manual.zsh", "manual.fish" } do
  local text = io.open(file):read("a")
  local n, at = utf8.len(text)
  assert(#text > 1000 and n, ("%s: byte %s is not UTF-8: %q"):format(file, at, text:sub((at or 1) - 60, at)))
end
E
"$MOONLOOP" -b utf8.lua 2>why
verdict 'every byte of the manual is valid UTF-8'
grep -q 'pas�s' manual.html
verdict 'shows a byte that is no text as one'
bash -n manual.bash 2>why
verdict 'bash reads its completion'
[ "$(bash -c 'source ./manual.bash; compopt() { :; }
    COMP_WORDS=(moonloop --color = n) COMP_CWORD=3; _moonloop; echo "${COMPREPLY[@]}"
    COMP_WORDS=(moonloop --feat) COMP_CWORD=1; _moonloop; echo "${COMPREPLY[@]}"' 2>why)" = \
    "$(printf 'never\n--features')" ]
verdict 'bash completes options and their values'
cat >check.lua <<'E'
local html = io.open("manual.html"):read("a")
local void = {meta = true, input = true, img = true, source = true, ["!DOCTYPE"] = true}
local open, ids = {}, {}
local text = html:gsub("<style>.-</style>", ""):gsub("<script>.-</script>", "")
for close, tag in text:gmatch("<(/?)([%w!]+)[^>]*>") do
  if close == "" and not void[tag] then open[#open + 1] = tag end
  if close ~= "" then
    assert(open[#open] == tag, "</" .. tag .. "> ends <" .. tostring(open[#open]) .. ">")
    open[#open] = nil
  end
end
assert(#open == 0, "not ended: " .. table.concat(open, " "))
for id in text:gmatch(' id="([^"]*)"') do
  assert(not ids[id], "twice: " .. id)
  ids[id] = true
end
local links = 0
for id in text:gmatch('href="#([^"]*)"') do
  assert(ids[id], "leads nowhere: " .. id)
  links = links + 1
end
assert(links > 300, links .. " links")
local control = html:find("[^\n\t\32-\255]")
assert(not control, "a control character: " .. html:sub((control or 1) - 40, control))
E
"$MOONLOOP" -b check.lua 2>why
verdict 'the page is well formed, and every link of it leads somewhere'
if command -v groff >/dev/null; then
    groff -ww -man -Tutf8 manual.man >shown 2>why && [ ! -s why ] && grep -q 'reorder' shown
    verdict 'groff sets the man page without a warning'
else
    echo 'skip groff sets the man page without a warning: no groff'
fi
! grep -nE "^['.]" manual.man | grep -vE "^[0-9]+:\.(\\\\\"|TH|SH|SS|TP|PP|B|RI|nf|fi)" >why
verdict 'no text of the man page is taken for a request'
