"""PTX text: instructions with modifiers, predicate and operands, and the dialect an asm template is written in."""

from __future__ import annotations

import re

import msgspec

MAX_INSTRUCTIONS = 4000  # an asm statement or a part of a file; more is cut
COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
LABEL = re.compile(r"[A-Za-z_$%][\w$%={}]*\s*:(?!:)")
PREDICATE = re.compile(r"@!?\s*[%\w$?{}\[\]]+\s*")
OPCODE = re.compile(r"[A-Za-z_?][\w?]*(?:(?:\.|::)[\w?]+)*")
AMD_MNEMONIC = re.compile(r"(?:v|s|ds|buffer|tbuffer|global|flat|scratch|image|exp|export)_[a-z]\w*\Z")
REGISTER = re.compile(r"%%?([a-z_][a-z_0-9]*)")

TYPES = frozenset((
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b1", "b4", "b8", "b16", "b32", "b64", "b128", "f16", "f16x2", "f32",
    "f32x2", "f64", "bf16", "bf16x2", "tf32", "pred", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2",
    "e4m3x4", "e5m2x4", "s4", "u4",
))  # fmt: skip
BARE = frozenset(("trap", "brkpt", "exit", "ret"))  # instructions that need no modifier
BASES = frozenset((
    "abs", "activemask", "add", "addc", "alloca", "and", "applypriority", "atom", "bar", "barrier", "bfe", "bfi", "bfind", "bmsk",
    "bra", "brev", "brkpt", "brx", "call", "clusterlaunchcontrol", "clz", "cnot", "copysign", "cos", "cp", "createpolicy", "cvt",
    "cvta", "discard", "div", "dp2a", "dp4a", "elect", "ex2", "exit", "fence", "fma", "fns", "getctarank", "griddepcontrol",
    "isspacep", "istypep", "ld", "ldmatrix", "ldu", "lg2", "lop3", "mad", "mad24", "madc", "mapa", "match", "max", "mbarrier",
    "membar", "min", "mma", "mov", "movmatrix", "mul", "mul24", "multimem", "nanosleep", "neg", "not", "or", "pmevent", "popc",
    "prefetch", "prefetchu", "prmt", "rcp", "red", "redux", "rem", "ret", "rsqrt", "sad", "selp", "set", "setmaxnreg", "setp", "shf",
    "shfl", "shl", "shr", "sin", "slct", "sqrt", "st", "stackrestore", "stacksave", "stmatrix", "sub", "subc", "suld", "suq", "sured",
    "sust", "szext", "tanh", "tcgen05", "tensormap", "testp", "tex", "tld4", "trap", "txq", "vabsdiff", "vabsdiff2", "vabsdiff4",
    "vadd", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4", "vmin", "vmin2", "vmin4", "vote", "vset", "vset2",
    "vset4", "vshl", "vshr", "vsub", "vsub2", "vsub4", "wgmma", "wmma", "xor",
))  # fmt: skip
NEON_LIKE = re.compile(r"v[a-z]+\d?\Z")  # ARM's vadd.s32 has one type, PTX's vadd.s32.s32.s32 three


class Instruction(msgspec.Struct, frozen=True, gc=False):
    """One PTX instruction; ``offset`` counts characters from the start of its text, a ? stands for what a macro supplies."""

    opcode: str
    operands: tuple[str, ...] = ()
    predicate: str = ""
    offset: int = 0

    @property
    def base(self) -> str:
        """The first word: cp of cp.async.cg."""
        return self.opcode.split(".", 1)[0]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The dotted words after the first."""
        return tuple(part for part in self.opcode.split(".")[1:] if part)

    @property
    def registers(self) -> tuple[str, ...]:
        """Names of registers in the operands (laneid of %%laneid), numbered operands left out."""
        return tuple(match[1] for operand in self.operands for match in REGISTER.finditer(operand))


def split(text: str) -> list[Instruction]:
    """The instructions of a PTX text in order; directives, labels, braces and comments are left out."""
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found: list[Instruction] = []
    position, size = 0, len(text)
    while position < size and len(found) < MAX_INSTRUCTIONS:
        char = text[position]
        if char in " \t\r\n;{}":
            position += 1
            continue
        label = LABEL.match(text, position)
        if label:
            position = label.end()
            continue
        end = _statement_end(text, position)
        instruction = _instruction(text[position:end], position)
        if instruction is not None:
            found.append(instruction)
        position = end + 1
    return found


def _statement_end(text: str, start: int) -> int:
    """Where the statement ends: its semicolon; for a function head in a .ptx file the brace that opens the body."""
    end = text.find(";", start)
    end = len(text) if end < 0 else end
    if text[start] == ".":
        brace = text.find("{", start, end)
        if brace >= 0 and re.match(r"\.(?:visible|entry|func|weak|extern)\b", text[start:brace]):
            return brace
        if re.match(r"\.(?:version|target|address_size|loc|file|section|pragma)\b", text[start : start + 16]):
            line = text.find("\n", start)
            return min(end, line if line >= 0 else len(text))
    return end


def _instruction(statement: str, offset: int) -> Instruction | None:
    predicate = ""
    match = PREDICATE.match(statement)
    if match:
        predicate = match[0].strip()
    start = match.end() if match else 0
    opcode = OPCODE.match(statement, start)
    if opcode is None:
        return None
    name = re.sub(r"\.(?=\.|\Z)", "", opcode[0]).lower() if opcode[0][0] != "?" else opcode[0]
    return Instruction(name, _operands(statement[opcode.end() :]), predicate, offset + start)


def _operands(text: str) -> tuple[str, ...]:
    """The operands, split at commas outside braces and brackets."""
    out: list[str] = []
    current: list[str] = []
    depth = 0
    for char in text:
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
        if char == "," and depth == 0:
            out.append(" ".join("".join(current).split()))
            current = []
        else:
            current.append(char)
    out.append(" ".join("".join(current).split()))
    return tuple(part for part in out if part)


def is_ptx(instruction: Instruction) -> bool:
    """True for an instruction of the PTX set in PTX's form (mov.u32, never x86's mov or ARM's vadd.s32)."""
    base, modifiers = instruction.base, instruction.modifiers
    if base not in BASES:
        return False
    if not modifiers:
        return base in BARE or base == "bra"
    if NEON_LIKE.match(base) and base != "vote":
        return sum(part in TYPES for part in modifiers) >= 3
    return not all(part in ("d", "w", "s", "b", "h", "q", "n", "aq", "rl", "aqrl", "uw", "i", "l") for part in modifiers)


def is_amd(instruction: Instruction) -> bool:
    """True for an instruction of AMD's GPUs."""
    return AMD_MNEMONIC.match(instruction.base) is not None


def looks_like_ptx(instruction: Instruction) -> bool:
    """True for an opcode that is not known but carries PTX types or scopes: foo.b32, bar.shared::cluster."""
    if is_amd(instruction) or NEON_LIKE.match(instruction.base):
        return False
    return any(part in TYPES or part in ("sync", "aligned", "cta_group") or "::" in part for part in instruction.modifiers)


def dialect(template: str, instructions: list[Instruction]) -> str:
    """Which language a template is in: empty, ptx, amd, or host (x86, ARM and all others that run on a CPU)."""
    if not template.strip(" \t\r\n;"):
        return "empty"
    if not template.strip(" \t\r\n;{}"):
        return "ptx"  # a brace alone opens or closes a block that other statements fill
    if any(is_ptx(instruction) for instruction in instructions) and not _bare_host(instructions):
        return "ptx"
    if any(is_amd(instruction) for instruction in instructions) or template.lstrip().startswith(("v_", "s_", "ds_")):
        return "amd"
    return "ptx" if any(looks_like_ptx(instruction) for instruction in instructions) else "host"


def _bare_host(instructions: list[Instruction]) -> bool:
    """True where only bare words that CPUs have too (ret) make it look like PTX, beside others that PTX lacks."""
    ptx = [instruction for instruction in instructions if is_ptx(instruction)]
    return all(not item.modifiers for item in ptx) and len(ptx) < len(instructions)
