"""The reference of the C++ library: the headers that bridgemark/bridgemark.h reaches, by Doxygen.

Comments in the headers are plain `//`. One that stands before several declarations without a blank
line between them is that of all of them. A public class, function, type or constant without one
fails the build; members may be explained by their names.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from xml.etree import ElementTree

from text import escape

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
INCLUDE = re.compile(r'^#include "(bridgemark/[^"]+)"', re.MULTILINE)

DOXYFILE = """
INPUT = {headers}
STRIP_FROM_PATH = {root}
INPUT_FILTER = "{python} {filter}"
OUTPUT_DIRECTORY = {out}
GENERATE_XML = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
EXTRACT_ALL = YES
MARKDOWN_SUPPORT = NO
AUTOLINK_SUPPORT = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = BM_HD=
XML_PROGRAMLISTING = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
"""


def parts():
    """Title and headers of each part of bridgemark.h; headers below them go to their folder's."""
    umbrella = (ROOT / "bridgemark/bridgemark.h").read_text()
    found = []
    for block in umbrella.split("\n\n"):
        headers = INCLUDE.findall(block)
        if headers:
            title = " ".join(re.findall(r"^// (.*)$", block, re.MULTILINE))
            found.append((title, [h for h in headers if (ROOT / h).is_file()]))
    seen = [header for _, headers in found for header in headers]
    for header in seen:  # grows while it is read
        for other in INCLUDE.findall((ROOT / header).read_text()):
            if other not in seen and (ROOT / other).is_file():
                seen.append(other)
                folder = other.rsplit("/", 1)[0]
                home = next(
                    (hs for _, hs in found if any(h.startswith(folder + "/") for h in hs)),
                    found[0][1],
                )
                home.append(other)
    return found


def doxygen(headers):
    """Doxygen's XML of the headers: the elements of all compounds."""
    with tempfile.TemporaryDirectory() as out:
        settings = DOXYFILE.format(
            headers=" ".join(str(ROOT / h) for h in headers),
            root=ROOT,
            out=out,
            python=sys.executable,
            filter=SITE / "comment_filter.py",
        )
        subprocess.run(["doxygen", "-"], input=settings, text=True, check=True)
        files = sorted(Path(out, "xml").glob("*.xml"))
        return [c for f in files for c in ElementTree.parse(f).getroot().findall("compounddef")]


def code_of(element):
    """Code as the headers write it: Doxygen puts spaces where they do not."""
    text = re.sub(r"<\s+", "<", text_of(element))
    text = re.sub(r"\s+>", ">", text)
    text = re.sub(r"\s*([&*]+)\s*(?=\w)", r"\1 ", text)
    text = re.sub(r"\s+([&*]+)", r"\1", text)
    return re.sub(r"(?<=\w)=(?=\S)", " = ", text)


def text_of(element):
    return "" if element is None else "".join(element.itertext())


def columns(text):
    """Lines of a list as they stand, less what all of them begin with."""
    first, *rest = re.sub(r"^ *///", "", text.rstrip(), flags=re.MULTILINE).splitlines()
    return "\n".join([first.strip(), *textwrap.dedent("\n".join(rest)).splitlines()])


def comment(element):
    """The paragraphs, lists and columns of an element's comment, as Markdown."""
    blocks = [""]

    def add(text):
        blocks[-1] += text

    for description in (element.find("briefdescription"), element.find("detaileddescription")):
        for para in [] if description is None else description.findall("para"):
            blocks.append(para.text or "")
            for child in para:
                if child.tag == "verbatim":
                    blocks += [f"```\n{columns(child.text)}\n```", ""]
                elif child.tag == "itemizedlist":
                    items = (" ".join(text_of(item).split()) for item in child)
                    blocks += ["\n".join("- " + escape(item) for item in items), ""]
                else:
                    add(text_of(child))
                add(child.tail or "")
    said = (b if b.startswith(("```", "- ")) else escape(" ".join(b.split())) for b in blocks)
    return "\n\n".join(block for block in said if block)


def declaration(member):
    """One declaration, without its body."""
    kind = member.get("kind")
    name = text_of(member.find("name"))
    if kind == "enum":
        values = member.findall("enumvalue")
        said = [" ".join(comment(v).replace("\\", "").split()) for v in values]
        lines = [
            f"  {text_of(v.find('name'))}," + (f"  // {s}" if s else "")
            for v, s in zip(values, said)
        ]
        return "\n".join([f"enum class {name} {{", *lines, "};"])
    head = template_of(member)
    kind_of = code_of(member.find("type"))
    if kind == "typedef":
        arguments = code_of(member.find("argsstring"))
        return f"{head}using {name} = {re.sub(r'^using ', '', kind_of)}{arguments};"
    initial = text_of(member.find("initializer"))
    if kind == "variable":
        static = "static " if member.get("static") == "yes" and "constexpr" not in kind_of else ""
        return f"{head}{static}{kind_of} {name}{' ' + initial if initial else ''};"
    arguments = re.sub(r"\s*=\s*(0|default|delete)$", r" = \1", code_of(member.find("argsstring")))
    overrides = arguments.endswith("override")
    prefix = "".join(
        word + " "
        for word, holds in (
            ("explicit", member.get("explicit") == "yes"),
            ("static", member.get("static") == "yes"),
            ("virtual", member.get("virt") in ("virtual", "pure-virtual") and not overrides),
        )
        if holds
    )
    line = prefix + (f"{kind_of} {name}" if kind_of else name)
    line = re.sub(r"<\s+", "<", re.sub(r"\s+>", ">", line))
    if len(line + arguments) > 92:
        listed = re.match(r"\((.*)\)(.*)$", arguments, re.DOTALL)
        inside = re.split(r", (?![^<(]*[>)])", listed[1])
        arguments = "(\n    " + ",\n    ".join(inside) + ")" + listed[2]
    return f"{head}{line}{arguments};"


def template_of(element):
    listed = element.find("templateparamlist")
    if listed is None:
        return ""
    kinds = [
        " ".join([text_of(p.find("type")), text_of(p.find("declname"))]).strip() for p in listed
    ]
    return f"template <{', '.join(kinds)}>\n"


def line_of(element):
    return int(element.find("location").get("line"))


def follows(source, line):
    """Whether a declaration is right below another, with no blank line or comment between."""
    above = line - 2
    while above >= 0 and re.match(r"\s*template\b", source[above]):
        above -= 1
    return (
        above >= 0
        and source[above] != "};"
        and re.search(r"[;}](\s*//.*)?$", source[above]) is not None
    )


def class_above(source, line, classes):
    """The comment of the class that ends right above a function: it is that of both."""
    if source[line - 2] != "};":
        return ""
    return comment(max((c for c in classes if line_of(c) < line), key=line_of))


def comments(member, source):
    """The comment before a declaration and the one behind it."""
    said = comment(member)
    behind = re.search(r"\S.*?//\s+(.*)$", source[line_of(member) - 1])
    if not behind:
        return said, ""
    if not re.match(r"\s*//", source[line_of(member) - 2]):
        return "", said
    return said.replace(escape(behind[1]), "").strip(), escape(behind[1])


def blocks(members, source, where, missing=None, classes=()):
    """Declarations that share a comment, in the order of the header, and that comment."""
    found = []
    for member in sorted(members, key=line_of):
        before, behind = comments(member, source)
        alone = (
            missing is None and found and behind and found[-1][1] and not found[-1][0][0][1]
        )  # a field with its own
        if found and not before and not alone and follows(source, line_of(member)):
            found[-1][0].append((member, behind))
        else:
            found.append(
                ([(member, behind)], before or class_above(source, line_of(member), classes))
            )
    out = []
    for listed, said in found:
        names = [text_of(m.find("name")) for m, _ in listed]
        if missing is not None and not said and not all(s for _, s in listed):
            missing.append(f"{where}: {', '.join(names)}")
        code = "\n".join(
            declaration(m)
            + (
                f"  // {' '.join(s.split())}".replace("\\", "")
                if s and m.get("kind") != "enum"
                else ""
            )
            for m, s in listed
        )
        out.append(f"```cpp\n{code}\n```\n" + (f"\n{said}\n" if said else ""))
    return out


def is_shown(member):
    name = text_of(member.find("name"))
    defaulted = re.search(r"=\s*default$", text_of(member.find("argsstring")))
    return (
        not name.startswith("~")
        and not (defaulted and name.startswith("operator"))
        and member.get("kind") != "friend"
    )


def class_section(compound, source, where, missing):
    name = text_of(compound.find("compoundname")).removeprefix("bridgemark::")
    said = comment(compound)
    if not said:
        missing.append(f"{where}: {name}")
    bases = [
        text_of(base).removeprefix("bridgemark::") for base in compound.findall("basecompoundref")
    ]
    head = (
        f"{template_of(compound)}{compound.get('kind')} {name}"
        + (f" : public {', '.join(bases)}" if bases else "")
        + ";"
    )
    members = [
        m
        for s in compound.findall("sectiondef")
        if s.get("kind", "").startswith("public")
        for m in s.findall("memberdef")
        if is_shown(m)
    ]
    own = [m for m in members if m.find("location").get("file", "").endswith(where)]
    return "\n".join(
        [f"### {name}\n", f"```cpp\n{head}\n```\n", said + "\n", *blocks(own, source, where)]
    )


def header_section(header, compounds, missing):
    source = (ROOT / header).read_text().splitlines()

    def here(element):
        location = element.find("location")
        return location is not None and location.get("file") == header

    out = []
    classes = [c for c in compounds if c.get("kind") in ("class", "struct") and here(c)]
    for compound in compounds:
        name = text_of(compound.find("compoundname"))
        if (
            compound.get("kind") in ("class", "struct")
            and here(compound)
            and compound.get("prot") == "public"
        ):
            out.append((line_of(compound), class_section(compound, source, header, missing)))
        if compound.get("kind") == "namespace" and name == "bridgemark":
            free = [
                m
                for s in compound.findall("sectiondef")
                for m in s.findall("memberdef")
                if here(m) and is_shown(m)
            ]
            if free:
                out.append(
                    (
                        10**6,
                        "### Functions and types\n\n"
                        + "\n".join(blocks(free, source, header, missing, classes)),
                    )
                )
    title = f"## {header.removeprefix('bridgemark/')}\n\n"
    return title + "\n".join(text for _, text in sorted(out)) if out else ""


def pages():
    grouped = parts()
    compounds = doxygen([header for _, headers in grouped for header in headers])
    made, names, missing = {}, [], []
    for title, headers in grouped:
        name = headers[0].split("/")[1]
        names.append(name)
        sections = (header_section(header, compounds, missing) for header in headers)
        made[f"reference/cpp/{name}.md"] = f"# {name.capitalize()}\n\n{title}.\n\n" + "\n".join(
            sections
        )
    if missing:
        raise ValueError("public, but without a comment:\n  " + "\n  ".join(missing))
    listed = "\n".join(
        f"- [{name.capitalize()}](cpp/{name}.md): {title}."
        for (title, _), name in zip(grouped, names)
    )
    made["reference/cpp.md"] = (
        "# C++\n\n```cpp\n#include <bridgemark/bridgemark.h>\n```\n\n"
        "is the whole library; all names are in the namespace `bridgemark`. What this header "
        "reaches is public, and nothing else is installed. `kVersion`, "
        "`BRIDGEMARK_VERSION` and its `_MAJOR`, `_MINOR` and `_PATCH` are the version.\n\n"
        + listed
        + "\n\n```{toctree}\n:hidden:\n"
        + "\n".join(f"cpp/{name}" for name in names)
        + "\n```\n"
    )
    return made
