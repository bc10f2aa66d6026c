//! Facts as bytes: small numbers in few bytes, places as distances.
//!
//! A segment is read back only if its checksum holds, so that reading may trust what it says; a number that makes
//! no sense all the same ends the reading with nothing.

use crate::facts::{
    Binding, BindingTarget, Definition, DefinitionKind, FileFacts, Import, NameId, Place, Reference,
    ReferenceKind, Scope, ScopeKind, Taken,
};
use crate::shapes::{
    CallId, CallShape, FunctionResult, Literal, NameTable, Narrowing, Parameter, ParameterKind, Shape,
    ShapeId, Shapes, Value, Write,
};

/// Writes numbers one after another.
#[derive(Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn u32(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn len(&mut self, len: usize) {
        self.u32(u32::try_from(len).unwrap_or(u32::MAX));
    }

    /// A number that is mostly a little more than the one before.
    fn delta(&mut self, before: &mut u32, number: u32) {
        let distance = number.wrapping_sub(*before) as i32;
        self.u32(((distance << 1) ^ (distance >> 31)) as u32);
        *before = number;
    }

    fn optional(&mut self, number: Option<u32>) {
        self.u32(number.map_or(0, |it| it + 1));
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.bytes.extend(number.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.len(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// Reads numbers one after another; past the end there are none.
pub(crate) struct Decoder<'b> {
    bytes: &'b [u8],
}

impl<'b> Decoder<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let mut number = 0_u32;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn len(&mut self) -> Option<usize> {
        let len = self.u32()? as usize;
        // Each item takes a byte at least.
        (len <= self.bytes.len()).then_some(len)
    }

    fn delta(&mut self, before: &mut u32) -> Option<u32> {
        let coded = self.u32()?;
        let distance = (coded >> 1) as i32 ^ -((coded & 1) as i32);
        *before = before.wrapping_add(distance as u32);
        Some(*before)
    }

    fn optional(&mut self) -> Option<Option<u32>> {
        Some(self.u32()?.checked_sub(1))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(crate) fn text(&mut self) -> Option<&'b str> {
        let len = self.len()?;
        let (text, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        std::str::from_utf8(text).ok()
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let len = self.len()?;
        let mut list = Vec::with_capacity(len);
        for _ in 0..len {
            list.push(item(self)?);
        }
        Some(list)
    }

    fn name(&mut self) -> Option<NameId> {
        self.u32().map(NameId)
    }

    fn shape(&mut self) -> Option<ShapeId> {
        self.u32().map(ShapeId)
    }
}

/// Returns facts as bytes.
pub(crate) fn encode(facts: &FileFacts) -> Vec<u8> {
    let mut out = Encoder::default();
    out.u32(u32::from(facts.has_errors));
    out.optional(facts.doc.map(|it| it.0));
    out.text(&facts.names.text);
    out.len(facts.names.ends.len());
    let mut before = 0;
    for end in &facts.names.ends {
        out.delta(&mut before, *end);
    }
    for idx in &facts.names.sorted {
        out.u32(*idx);
    }
    encode_scopes(&mut out, &facts.scopes);
    encode_definitions(&mut out, &facts.definitions);
    out.len(facts.bindings.len());
    let mut before = 0;
    for binding in &facts.bindings {
        out.delta(&mut before, binding.scope);
        out.u32(binding.name.0);
        let (kind, value) = match binding.to {
            BindingTarget::Definition(idx) => (0, idx),
            BindingTarget::Import(idx) => (1, idx),
            BindingTarget::Parameter => (2, 0),
            BindingTarget::Local => (3, 0),
            BindingTarget::Global => (4, 0),
            BindingTarget::Nonlocal => (5, 0),
        };
        out.u32(kind | (value << 3));
    }
    encode_references(&mut out, &facts.references);
    out.len(facts.imports.len());
    for import in &facts.imports {
        out.u32(import.module.0);
        let (kind, name) = match import.taken {
            Taken::Module => (0, 0),
            Taken::FirstPart => (1, 0),
            Taken::All => (2, 0),
            Taken::Name(name) => (3, name.0),
        };
        out.u32(kind | (name << 2));
        out.optional(import.bound.map(|it| it.0));
        out.u32(import.at.offset);
        out.u32(import.at.line);
        out.u32(import.scope);
    }
    encode_shapes(&mut out, &facts.shapes);
    encode_values(&mut out, facts);
    out.bytes
}

fn encode_scopes(out: &mut Encoder, scopes: &[Scope]) {
    out.len(scopes.len());
    let mut before = 0;
    for scope in scopes {
        out.u32(scope.kind as u32);
        out.delta(&mut before, scope.range.start);
        out.u32(scope.range.end - scope.range.start);
        out.optional(scope.parent);
        out.optional(scope.definition);
    }
}

fn encode_definitions(out: &mut Encoder, definitions: &[Definition]) {
    out.len(definitions.len());
    let (mut start, mut line) = (0, 0);
    for it in definitions {
        out.u32(it.kind as u32);
        out.u32(it.name.0);
        out.delta(&mut start, it.range.start);
        out.u32(it.range.end - it.range.start);
        out.u32(it.name_at.offset.wrapping_sub(it.range.start));
        out.delta(&mut line, it.lines.0);
        out.u32(it.lines.1 - it.lines.0);
        out.u32(it.name_at.line.wrapping_sub(it.lines.0));
        out.u32(it.header_end.wrapping_sub(it.lines.0));
        out.optional(it.parent);
        out.optional(it.scope);
        out.optional(it.body);
        out.optional(it.doc.map(|it| it.0));
        out.u32(it.annotation.0);
        out.u32(it.parameters.start);
        out.u32(it.parameters.end - it.parameters.start);
        for list in [&it.bases, &it.decorators] {
            out.len(list.len());
            list.iter().for_each(|name| out.u32(name.0));
        }
        out.len(it.base_shapes.len());
        it.base_shapes.iter().for_each(|shape| out.u32(shape.0));
    }
}

fn encode_references(out: &mut Encoder, references: &[Reference]) {
    out.len(references.len());
    let (mut offset, mut line, mut scope) = (0, 0, 0);
    for it in references {
        let line_moves = it.at.line != line;
        let scope_moves = it.scope != scope;
        let flags = it.kind as u32
            | u32::from(it.receiver.is_some()) << 3
            | u32::from(it.call.is_some()) << 4
            | u32::from(line_moves) << 5
            | u32::from(scope_moves) << 6;
        out.u32(flags);
        out.u32(it.name.0);
        out.delta(&mut offset, it.at.offset);
        if line_moves {
            out.delta(&mut line, it.at.line);
        }
        if scope_moves {
            out.delta(&mut scope, it.scope);
        }
        if let Some(receiver) = it.receiver {
            out.u32(receiver.0);
        }
        if let Some(call) = it.call {
            out.u32(call.0);
        }
    }
}

fn encode_shapes(out: &mut Encoder, shapes: &Shapes) {
    out.len(shapes.shapes.len());
    for (idx, shape) in (0_u32..).zip(&shapes.shapes) {
        // Parts are mostly the shapes just before.
        let back = |id: &ShapeId| idx.wrapping_sub(id.0);
        let (kind, parts): (u32, [Option<u32>; 2]) = match shape {
            Shape::Unknown => (0, [None, None]),
            Shape::Name(name) => (1, [Some(name.0), None]),
            Shape::Attribute(of, name) => (2, [Some(back(of)), Some(name.0)]),
            Shape::Call(of, call) => (3, [Some(back(of)), Some(call.0)]),
            Shape::Subscript(of, with) => (4, [Some(back(of)), Some(with.0)]),
            Shape::Element(of) => (5, [Some(back(of)), None]),
            Shape::Part(of, part) => (6, [Some(back(of)), Some(*part)]),
            Shape::Entered(of) => (7, [Some(back(of)), None]),
            Shape::Instance(of) => (8, [Some(back(of)), None]),
            Shape::Awaited(of) => (9, [Some(back(of)), None]),
            Shape::Either(one, other) => (10, [Some(back(one)), Some(other.0)]),
            Shape::Binary(one, other) => (11, [Some(back(one)), Some(other.0)]),
            Shape::Tuple(start, end) => (12, [Some(*start), Some(end - start)]),
            Shape::Container(literal, of) => (13 + (*literal as u32) * 16, [Some(of.0), None]),
            Shape::Literal(literal) => (14 + (*literal as u32) * 16, [None, None]),
            Shape::Text(name) => (15, [Some(name.0), None]),
        };
        out.u32(kind);
        parts.into_iter().flatten().for_each(|part| out.u32(part));
    }
    out.len(shapes.calls.len());
    for call in &shapes.calls {
        let n_keywords = call.keywords.1 - call.keywords.0;
        let n_known = call.first.iter().filter(|it| it.is_known()).count();
        out.u32(
            u32::from(call.is_open)
                | u32::from(n_known > 0) << 1
                | u32::from(n_keywords > 0) << 2
                | call.n_positional << 3,
        );
        if n_known > 0 {
            call.first.iter().for_each(|it| out.u32(it.0));
        }
        if n_keywords > 0 {
            out.u32(n_keywords);
        }
    }
    out.len(shapes.keywords.len());
    shapes.keywords.iter().for_each(|it| out.u32(it.0));
    out.len(shapes.items.len());
    shapes.items.iter().for_each(|it| out.u32(it.0));
}

fn encode_values(out: &mut Encoder, facts: &FileFacts) {
    out.len(facts.values.len());
    let (mut scope, mut at) = (0, 0);
    for it in &facts.values {
        out.delta(&mut scope, it.scope);
        out.u32(it.name.0);
        out.delta(&mut at, it.at);
        out.u32(it.value.0);
    }
    out.len(facts.writes.len());
    let (mut scope, mut at) = (0, 0);
    for it in &facts.writes {
        out.u32(it.receiver.0);
        out.u32(it.name.0);
        out.u32(it.value.0);
        out.delta(&mut scope, it.scope);
        out.delta(&mut at, it.at);
    }
    out.len(facts.parameters.len());
    for it in &facts.parameters {
        let has_annotation = it.annotation.is_known();
        let has_default = it.default.is_known();
        out.u32(it.kind as u32 | u32::from(has_annotation) << 3 | u32::from(has_default) << 4);
        out.u32(it.name.0);
        if has_annotation {
            out.u32(it.annotation.0);
        }
        if has_default {
            out.u32(it.default.0);
        }
    }
    out.len(facts.results.len());
    let mut scope = 0;
    for it in &facts.results {
        out.delta(&mut scope, it.scope);
        out.u32(it.value.0 << 1 | u32::from(it.is_yielded));
    }
    out.len(facts.narrowings.len());
    for it in &facts.narrowings {
        out.u32(it.range.start);
        out.u32(it.range.end - it.range.start);
        out.u32(it.subject.0);
        out.u32(it.class.0);
    }
}

/// Returns the facts that bytes say.
pub(crate) fn decode(bytes: &[u8]) -> Option<FileFacts> {
    let mut from = Decoder::new(bytes);
    let has_errors = from.u32()? == 1;
    let doc = from.optional()?.map(NameId);
    let text = from.text()?.to_owned();
    let mut before = 0;
    let ends = from.list(|it| it.delta(&mut before))?;
    let sorted = (0..ends.len())
        .map(|_| from.u32())
        .collect::<Option<Vec<u32>>>()?;
    let names = NameTable { text, ends, sorted };
    let mut before = 0;
    let scopes = from.list(|it| {
        let kind = scope_kind(it.u32()?)?;
        let start = it.delta(&mut before)?;
        Some(Scope {
            kind,
            range: start..start.wrapping_add(it.u32()?),
            parent: it.optional()?,
            definition: it.optional()?,
        })
    })?;
    let definitions = decode_definitions(&mut from)?;
    let mut before = 0;
    let bindings = from.list(|it| {
        Some(Binding {
            scope: it.delta(&mut before)?,
            name: it.name()?,
            to: {
                let coded = it.u32()?;
                match coded & 7 {
                    0 => BindingTarget::Definition(coded >> 3),
                    1 => BindingTarget::Import(coded >> 3),
                    2 => BindingTarget::Parameter,
                    3 => BindingTarget::Local,
                    4 => BindingTarget::Global,
                    _ => BindingTarget::Nonlocal,
                }
            },
        })
    })?;
    let references = decode_references(&mut from)?;
    let imports = from.list(|it| {
        Some(Import {
            module: it.name()?,
            taken: {
                let coded = it.u32()?;
                match coded & 3 {
                    0 => Taken::Module,
                    1 => Taken::FirstPart,
                    2 => Taken::All,
                    _ => Taken::Name(NameId(coded >> 2)),
                }
            },
            bound: it.optional()?.map(NameId),
            at: Place {
                offset: it.u32()?,
                line: it.u32()?,
            },
            scope: it.u32()?,
        })
    })?;
    let shapes = decode_shapes(&mut from)?;
    let mut facts = FileFacts {
        names,
        definitions,
        scopes,
        bindings,
        references,
        imports,
        shapes,
        doc,
        has_errors,
        ..FileFacts::default()
    };
    decode_values(&mut from, &mut facts)?;
    Some(facts)
}

fn decode_definitions(from: &mut Decoder<'_>) -> Option<Vec<Definition>> {
    let (mut start, mut line) = (0, 0);
    from.list(|it| {
        let kind = definition_kind(it.u32()?)?;
        let name = it.name()?;
        let start = it.delta(&mut start)?;
        let end = start.wrapping_add(it.u32()?);
        let offset = start.wrapping_add(it.u32()?);
        let first_line = it.delta(&mut line)?;
        let last_line = first_line.wrapping_add(it.u32()?);
        let name_line = first_line.wrapping_add(it.u32()?);
        let header_end = first_line.wrapping_add(it.u32()?);
        let (parent, scope, body) = (it.optional()?, it.optional()?, it.optional()?);
        let doc = it.optional()?.map(NameId);
        let annotation = it.shape()?;
        let parameters = it.u32()?;
        let parameters = parameters..parameters.wrapping_add(it.u32()?);
        Some(Definition {
            kind,
            name,
            name_at: Place {
                offset,
                line: name_line,
            },
            range: start..end,
            lines: (first_line, last_line),
            header_end,
            parent,
            scope,
            body,
            bases: it.list(Decoder::name)?,
            decorators: it.list(Decoder::name)?,
            base_shapes: it.list(Decoder::shape)?,
            parameters,
            annotation,
            doc,
        })
    })
}

fn decode_references(from: &mut Decoder<'_>) -> Option<Vec<Reference>> {
    let (mut offset, mut line, mut scope) = (0, 0, 0);
    from.list(|it| {
        let flags = it.u32()?;
        let name = it.name()?;
        let at = it.delta(&mut offset)?;
        if flags & 0x20 != 0 {
            it.delta(&mut line)?;
        }
        if flags & 0x40 != 0 {
            it.delta(&mut scope)?;
        }
        Some(Reference {
            name,
            at: Place { offset: at, line },
            kind: reference_kind(flags & 7)?,
            receiver: if flags & 8 != 0 { Some(it.shape()?) } else { None },
            call: if flags & 16 != 0 {
                Some(CallId(it.u32()?))
            } else {
                None
            },
            scope,
        })
    })
}

fn decode_shapes(from: &mut Decoder<'_>) -> Option<Shapes> {
    let mut idx = 0_u32;
    let shapes = from.list(|it| {
        let here = idx;
        idx += 1;
        let coded = it.u32()?;
        let back = |it: &mut Decoder<'_>| Some(ShapeId(here.wrapping_sub(it.u32()?)));
        Some(match coded & 15 {
            0 => Shape::Unknown,
            1 => Shape::Name(it.name()?),
            2 => Shape::Attribute(back(it)?, it.name()?),
            3 => Shape::Call(back(it)?, CallId(it.u32()?)),
            4 => Shape::Subscript(back(it)?, it.shape()?),
            5 => Shape::Element(back(it)?),
            6 => Shape::Part(back(it)?, it.u32()?),
            7 => Shape::Entered(back(it)?),
            8 => Shape::Instance(back(it)?),
            9 => Shape::Awaited(back(it)?),
            10 => Shape::Either(back(it)?, it.shape()?),
            11 => Shape::Binary(back(it)?, it.shape()?),
            12 => {
                let start = it.u32()?;
                Shape::Tuple(start, start.wrapping_add(it.u32()?))
            }
            13 => Shape::Container(literal(coded >> 4)?, it.shape()?),
            14 => Shape::Literal(literal(coded >> 4)?),
            _ => Shape::Text(it.name()?),
        })
    })?;
    let mut keyword = 0_u32;
    let calls = from.list(|it| {
        let coded = it.u32()?;
        let first = if coded & 2 != 0 {
            [it.shape()?, it.shape()?]
        } else {
            [ShapeId::UNKNOWN; 2]
        };
        let start = keyword;
        if coded & 4 != 0 {
            keyword = keyword.wrapping_add(it.u32()?);
        }
        Some(CallShape {
            n_positional: coded >> 3,
            is_open: coded & 1 != 0,
            first,
            keywords: (start, keyword),
        })
    })?;
    Some(Shapes {
        shapes,
        calls,
        keywords: from.list(Decoder::name)?,
        items: from.list(Decoder::shape)?,
    })
}

fn decode_values(from: &mut Decoder<'_>, facts: &mut FileFacts) -> Option<()> {
    let (mut scope, mut at) = (0, 0);
    facts.values = from.list(|it| {
        Some(Value {
            scope: it.delta(&mut scope)?,
            name: it.name()?,
            at: it.delta(&mut at)?,
            value: it.shape()?,
        })
    })?;
    let (mut scope, mut at) = (0, 0);
    facts.writes = from.list(|it| {
        Some(Write {
            receiver: it.shape()?,
            name: it.name()?,
            value: it.shape()?,
            scope: it.delta(&mut scope)?,
            at: it.delta(&mut at)?,
        })
    })?;
    facts.parameters = from.list(|it| {
        let coded = it.u32()?;
        Some(Parameter {
            kind: parameter_kind(coded & 7)?,
            name: it.name()?,
            annotation: if coded & 8 != 0 {
                it.shape()?
            } else {
                ShapeId::UNKNOWN
            },
            default: if coded & 16 != 0 {
                it.shape()?
            } else {
                ShapeId::UNKNOWN
            },
        })
    })?;
    let mut scope = 0;
    facts.results = from.list(|it| {
        let scope = it.delta(&mut scope)?;
        let coded = it.u32()?;
        Some(FunctionResult {
            scope,
            is_yielded: coded & 1 == 1,
            value: ShapeId(coded >> 1),
        })
    })?;
    facts.narrowings = from.list(|it| {
        let start = it.u32()?;
        Some(Narrowing {
            range: start..start.wrapping_add(it.u32()?),
            subject: it.shape()?,
            class: it.shape()?,
        })
    })?;
    Some(())
}

fn scope_kind(coded: u32) -> Option<ScopeKind> {
    [
        ScopeKind::Module,
        ScopeKind::Class,
        ScopeKind::Function,
        ScopeKind::Block,
    ]
    .get(coded as usize)
    .copied()
}

fn definition_kind(coded: u32) -> Option<DefinitionKind> {
    let kinds = [
        DefinitionKind::Class,
        DefinitionKind::Function,
        DefinitionKind::Method,
        DefinitionKind::Variable,
        DefinitionKind::ClassAttribute,
        DefinitionKind::InstanceAttribute,
    ];
    kinds.get(coded as usize).copied()
}

fn reference_kind(coded: u32) -> Option<ReferenceKind> {
    let kinds = [
        ReferenceKind::Call,
        ReferenceKind::Write,
        ReferenceKind::Attribute,
        ReferenceKind::Keyword,
        ReferenceKind::Import,
        ReferenceKind::Name,
    ];
    kinds.get(coded as usize).copied()
}

fn parameter_kind(coded: u32) -> Option<ParameterKind> {
    let kinds = [
        ParameterKind::Required,
        ParameterKind::Optional,
        ParameterKind::Rest,
        ParameterKind::Keywords,
        ParameterKind::Named,
        ParameterKind::OptionalNamed,
    ];
    kinds.get(coded as usize).copied()
}

fn literal(coded: u32) -> Option<Literal> {
    let kinds = [
        Literal::Str,
        Literal::Bytes,
        Literal::Number,
        Literal::Bool,
        Literal::Nothing,
        Literal::List,
        Literal::Set,
        Literal::Dict,
        Literal::Tuple,
        Literal::Generator,
        Literal::Lambda,
    ];
    kinds.get(coded as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::extract;
    use crate::language::LANGUAGES;

    #[test]
    fn facts_come_back_as_they_were() {
        let text = "import a.b as c\nfrom . import *\n@d\nclass A(B[int], c.D):\n    '''Doc.'''\n    x: int = 1\n    \
                    def f(self, y, *z, k=None, **w) -> 'A':\n        self.q = [y for y in z]\n        \
                    if isinstance(y, A):\n            return y.f(1, k=2)[0], None\n        yield w\n        global g\n        g = 1\n";
        let facts = extract(&LANGUAGES[0], text, &|| false).unwrap();
        let bytes = encode(&facts);
        assert_eq!(format!("{:?}", decode(&bytes).unwrap()), format!("{facts:?}"));
        for end in 0..bytes.len() {
            // What is cut short says nothing, and harms nobody.
            assert!(decode(&bytes[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn noise_is_no_facts() {
        let mut state = 1_u64;
        for _ in 0..2_000 {
            let noise: Vec<u8> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .take(300)
            .collect();
            let _ = decode(&noise);
        }
    }
}
