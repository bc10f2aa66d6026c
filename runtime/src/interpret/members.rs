//! Functions and classes of listed modules.

use healcore::tables::{Member, MemberKind, Module};
use healcore::tree::Function;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::calls::{Arg, Args, Values};
use super::guards::{self, count, sequence_len};
use super::interpreter::Interpreter;
use super::methods::ORDERED;
use super::native;
use super::operators::is_int;
use super::replay::Replay;
use super::stop::{Eval, Stop, rule};
use super::vet::{ANYTHING, HASH, JSON};

/// Marks in a row that a function of `unicodedata` may get.
const MAX_MARKS: usize = 1_000;
/// Exponents of a number's text.
const MAX_EXPONENT: i64 = 4_000;

impl<'a, 'py> Interpreter<'a, 'py> {
    pub(super) fn call_member(
        &mut self,
        member: &'static Member,
        callable: &Bound<'py, PyAny>,
        args: Args<'_, 'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        match member.module {
            Module::Itertools => self.call_itertools(member, callable, args),
            Module::Bisect => self.call_bisect(member, callable, args),
            Module::Collections => self.call_collections(member, callable, args),
            Module::Re => {
                let values = self.values(args)?;
                if matches!(member.path, "compile" | "escape") {
                    return self.call_values(callable, values);
                }
                self.call_regex(callable, values, false)
            }
            Module::Math => {
                let values = self.consumed(member, args)?;
                self.vet_math(member.path, &values)?;
                self.call_values(callable, values)
            }
            _ => {
                let values = self.consumed(member, args)?;
                let all: Vec<_> = values.all().cloned().collect();
                let specials = if (member.module, member.path) == (Module::Json, "dumps") {
                    JSON
                } else {
                    ANYTHING
                };
                for value in &all {
                    self.vet(value, specials)?;
                }
                self.vet_library_call(member, &values)?;
                self.call_values(callable, values)
            }
        }
    }

    /// Values; an iterable that the function consumes becomes a list.
    fn consumed(&mut self, member: &Member, args: Args<'_, 'py>) -> Eval<Values<'py>> {
        let mut values = self.values(args)?;
        if matches!(member.kind, MemberKind::Consumer | MemberKind::Container) {
            for value in &mut values.positional {
                let facts = self.facts.of(value)?;
                if self.facts.lookup(&facts, "__iter__")?.is_some()
                    && value.cast::<PyDict>().is_err()
                    && value.cast::<PyString>().is_err()
                {
                    let items = self.materialise(value)?;
                    *value = PyList::new(self.py, items)?.into_any();
                }
            }
        }
        Ok(values)
    }

    fn vet_math(&mut self, name: &str, values: &Values<'py>) -> Eval<()> {
        let all: Vec<_> = values.all().cloned().collect();
        for value in &all {
            self.vet(value, MATH)?;
        }
        let bits = |value: &Bound<'py, PyAny>| {
            if is_int(value) {
                native::bit_length(value)
            } else {
                Ok(0)
            }
        };
        match name {
            "factorial" | "perm" | "comb" => {
                // n! has at most n · log2 n bits, and the others have fewer.
                let (Some(n), k) = (values.positional.first(), values.positional.get(1)) else {
                    return Ok(());
                };
                if !is_int(n) {
                    return Ok(());
                }
                let factors = match k {
                    Some(k) if is_int(k) => count(k).min(if name == "comb" {
                        count(n).saturating_sub(count(k))
                    } else {
                        usize::MAX
                    }),
                    _ => count(n),
                };
                self.meter.integer((factors as u64).saturating_mul(bits(n)?))
            }
            "prod" => {
                let mut total = 0;
                for value in values
                    .positional
                    .first()
                    .map(|list| self.materialise(list))
                    .transpose()?
                    .unwrap_or_default()
                {
                    total += bits(&value)?;
                }
                self.meter.integer(total)
            }
            "lcm" => {
                let mut total = 0;
                for value in &all {
                    total += bits(value)?;
                }
                self.meter.integer(total)
            }
            _ => Ok(()),
        }
    }

    /// What functions of the other modules must not be asked.
    /// Marks in a row are sorted in a time that grows with the square of their number.
    fn vet_marks(&self, text: &Bound<'py, PyAny>) -> Eval<()> {
        let Some(text) = super::statics::text(text).filter(|text| text.len() > MAX_MARKS) else {
            return Ok(());
        };
        let mut n_marks = 0;
        for character in text.chars() {
            // No mark is a letter, and all are beyond ASCII.
            let may_be_mark = !character.is_ascii() && !character.is_alphabetic();
            n_marks = if may_be_mark { n_marks + 1 } else { 0 };
            if n_marks > MAX_MARKS {
                return Err(Stop::limit(
                    rule::TIME,
                    format!("a text with more than {MAX_MARKS} marks in a row"),
                    "cut the text",
                ));
            }
        }
        Ok(())
    }

    fn vet_library_call(&mut self, member: &Member, values: &Values<'py>) -> Eval<()> {
        for value in values.all() {
            if let Some(length) = sequence_len(value) {
                self.meter.text(length)?;
                self.meter.work((length >> 8) as u64)?;
            }
        }
        if matches!(member.module, Module::Unicodedata | Module::UrllibParse) {
            for value in &values.positional {
                self.vet_marks(value)?;
            }
        }
        match (member.module, member.path) {
            (Module::Fractions, _) => {
                // `Fraction("1e999999999")` is an integer of that many digits.
                for value in values.all() {
                    if let Some(text) = super::statics::text(value)
                        && let Some((_, exponent)) = text.to_ascii_lowercase().split_once('e')
                        && !exponent
                            .trim()
                            .replace('_', "")
                            .parse::<i64>()
                            .is_ok_and(|exponent| exponent.abs() <= MAX_EXPONENT)
                        && exponent.contains(|character: char| character.is_ascii_digit())
                    {
                        return Err(Stop::limit(
                            rule::INTEGER,
                            "a Fraction with a huge exponent",
                            "use a smaller number",
                        ));
                    }
                    if is_int(value) {
                        self.meter.integer(native::bit_length(value)?)?;
                    }
                }
                Ok(())
            }
            (Module::Textwrap, _) => match values.named("width", 1) {
                Some(width) if is_int(width) => self.meter.text(count(width)),
                _ => Ok(()),
            },
            (Module::Json, "dumps") => {
                match values.named("indent", usize::MAX) {
                    Some(indent) if is_int(indent) && count(indent) > 100 => Err(Stop::limit(
                        rule::STRING,
                        "an indent of more than 100",
                        "use a smaller indent",
                    )),
                    Some(indent) if sequence_len(indent).is_some_and(|length| length > 100) => Err(
                        Stop::limit(rule::STRING, "an indent of more than 100", "use a smaller indent"),
                    ),
                    _ => Ok(()),
                }
            }
            (Module::Datetime, "datetime.strptime") => Ok(()),
            (Module::Statistics, "quantiles") => match values.named("n", usize::MAX) {
                Some(n) if is_int(n) => self.meter.elements(count(n)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn call_collections(
        &mut self,
        member: &Member,
        callable: &Bound<'py, PyAny>,
        args: Args<'_, 'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let mut values = self.values(args)?;
        match member.path {
            "deque" => {
                if let Some(iterable) = values.positional.first().cloned() {
                    values.positional[0] = PyList::new(self.py, self.materialise(&iterable)?)?.into_any();
                }
            }
            "Counter" => {
                if let Some(source) = values.positional.first().cloned() {
                    let facts = self.facts.of(&source)?;
                    let is_mapping = self.facts.lookup(&facts, "keys")?.is_some();
                    if !source.is_none() {
                        values.positional[0] = if is_mapping {
                            self.exact_dict(&source)?
                        } else {
                            self.hashed_list(&source)?
                        };
                    }
                }
            }
            "OrderedDict.fromkeys" => {
                if let Some(source) = values.positional.first().cloned() {
                    values.positional[0] = self.hashed_list(&source)?;
                }
            }
            "OrderedDict" | "defaultdict" => {
                let at = usize::from(member.path == "defaultdict");
                if let Some(source) = values.positional.get(at).cloned() {
                    values.positional[at] = self.exact_dict(&source)?;
                }
            }
            _ => {
                for value in &values.positional.clone() {
                    self.vet_shallow(value, &["keys", "__getitem__", "__iter__"])?;
                }
            }
        }
        self.call_values(callable, values)
    }

    fn exact_dict(&mut self, source: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.py);
        for (key, value) in self.mapping_or_pairs(source)? {
            self.vet_key(dict.as_any(), &key)?;
            dict.set_item(key, value)?;
        }
        Ok(dict.into_any())
    }

    fn hashed_list(&mut self, source: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        let items = self.materialise(source)?;
        for item in &items {
            self.vet(item, HASH)?;
        }
        Ok(PyList::new(self.py, items)?.into_any())
    }

    fn call_bisect(
        &mut self,
        member: &Member,
        callable: &Bound<'py, PyAny>,
        mut args: Args<'_, 'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        if args.take_function("key").is_some() {
            return Err(Stop::unsupported(
                "`bisect` with a key",
                "make a list of the keys first",
            ));
        }
        let values = self.values(args)?;
        let all: Vec<_> = values.all().cloned().collect();
        for value in &all {
            self.vet(value, ORDERED)?;
        }
        let Some(list) = values
            .positional
            .first()
            .cloned()
            .filter(|_| member.path.starts_with("insort"))
        else {
            return self.call_values(callable, values);
        };
        let place = format!("{}(…)", member.path);
        self.may_write(format_args!("`{place}`"))?;
        let facts = self.facts.of(&list)?;
        self.vet_argument(&list, &facts, ORDERED)?;
        if list.cast::<PyList>().is_err() {
            return Err(Stop::unsupported(
                format!("`{place}` on something else than a list"),
                "use a list",
            ));
        }
        let old = self.save_telling(&list, &place)?;
        if let Some(value) = values.positional.get(1) {
            self.journal.wrote(&place, value);
        }
        let value = self.call_values(callable, values)?;
        self.told_mutation(&list, &place, old);
        Ok(value)
    }

    fn call_itertools(
        &mut self,
        member: &Member,
        callable: &Bound<'py, PyAny>,
        mut args: Args<'_, 'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let key = args.take_function("key").or_else(|| args.take_function("func"));
        let function = match args
            .positional
            .iter()
            .position(|arg| matches!(arg, Arg::Function(_)))
        {
            Some(at) => match args.positional.remove(at) {
                Arg::Function(function) => Some(function),
                _ => None,
            },
            None => key,
        };
        let mut values = self.values(args)?;
        match (member.path, function) {
            ("accumulate", _) => return self.accumulate(function, &values),
            ("groupby", function) => return self.group_by(function, &values),
            ("takewhile" | "dropwhile" | "filterfalse", Some(function)) => {
                return self.sift(member.path, function, &values);
            }
            ("chain.from_iterable", _) => {
                if let Some(iterables) = values.positional.first().cloned() {
                    let inner = self.materialise(&iterables)?;
                    for iterable in &inner {
                        self.vet_iterable(iterable)?;
                    }
                    values.positional[0] = PyList::new(self.py, inner)?.into_any();
                }
                return self.call_iterator(callable, values);
            }
            ("islice" | "batched", _) => {
                for bound in values.positional.iter().skip(1) {
                    if is_int(bound) {
                        self.meter.elements(count(bound))?;
                    }
                }
            }
            _ => {}
        }
        for value in &values.positional.clone() {
            if !is_int(value) && !value.is_none() {
                self.vet_iterable(value)?;
            }
        }
        self.call_iterator(callable, values)
    }

    fn accumulate(&mut self, function: Option<&Function>, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let mut replay = Replay::default();
        let Some(iterable) = values.positional.first() else {
            return self.replay(replay);
        };
        let items = self.materialise(iterable)?;
        let initial = values
            .keywords
            .iter()
            .find(|(name, _)| name == "initial")
            .map(|(_, value)| value.clone());
        let mut items = items.into_iter();
        let Some(mut total) = initial
            .filter(|initial| !initial.is_none())
            .or_else(|| items.next())
        else {
            return self.replay(replay);
        };
        replay.push(total.clone().unbind());
        for item in items {
            let next = match function {
                Some(function) => self.apply(function, vec![total, item]),
                None => self.binary(healcore::tree::BinaryOp::Add, &total, &item),
            };
            total = match next {
                Ok(total) => total,
                Err(stop) => return self.replay_failing(replay, stop),
            };
            replay.push(total.clone().unbind());
        }
        self.replay(replay)
    }

    fn group_by(&mut self, function: Option<&Function>, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let mut replay = Replay::default();
        let Some(iterable) = values.positional.first() else {
            return self.replay(replay);
        };
        let items = self.materialise(iterable)?;
        let keys = match function {
            Some(function) => self.keys(function, &items)?,
            None => items.clone(),
        };
        let mut at = 0;
        while at < items.len() {
            let mut end = at + 1;
            while end < items.len()
                && self
                    .comparison(healcore::tree::CompareOp::Eq, &keys[at], &keys[end])
                    .and_then(|equal| self.truth(&equal))?
            {
                end += 1;
            }
            let group = PyList::new(self.py, &items[at..end])?.into_any();
            let group = group.try_iter()?.into_any();
            self.adopt(&group, &[]);
            replay.push(
                PyTuple::new(self.py, [keys[at].clone(), group])?
                    .into_any()
                    .unbind(),
            );
            at = end;
        }
        self.replay(replay)
    }

    fn sift(&mut self, name: &str, function: &Function, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let mut replay = Replay::default();
        let Some(iterable) = values.positional.first() else {
            return self.replay(replay);
        };
        let iterator = self.iterate(iterable)?;
        let mut is_dropping = name == "dropwhile";
        while let Some(item) = self.next(&iterator)? {
            if name == "dropwhile" && !is_dropping {
                replay.push(item.unbind());
                continue;
            }
            let is_true = match self
                .apply(function, vec![item.clone()])
                .and_then(|value| self.truth(&value))
            {
                Ok(is_true) => is_true,
                Err(stop) => return self.replay_failing(replay, stop),
            };
            match name {
                "takewhile" if !is_true => break,
                "dropwhile" if is_true => continue,
                "filterfalse" if is_true => continue,
                _ => is_dropping = false,
            }
            replay.push(item.unbind());
            self.meter.elements(replay.len())?;
        }
        self.replay(replay)
    }
}

/// What functions of `math` may ask.
const MATH: super::vet::Specials = &[
    "__float__",
    "__index__",
    "__ceil__",
    "__floor__",
    "__trunc__",
    "__mul__",
    "__rmul__",
    "__add__",
    "__radd__",
];

impl Interpreter<'_, '_> {
    /// Refuses widths in a text that is a format.
    pub(super) fn vet_spec(&self, spec: &str) -> Eval<()> {
        guards::spec_widths(spec)
    }
}
