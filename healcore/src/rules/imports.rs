//! Imports: listed modules and listed members only.

use super::define_rules;

define_rules! {
    UNLISTED_MODULE = "HC201" "unlisted-module": "an import of a module that is not listed";
    STAR_IMPORT = "HC202" "star-import": "an import of all names of a module";
    UNLISTED_MEMBER = "HC203" "unlisted-member": "a member of a listed module that is not listed";
    RELATIVE_IMPORT = "HC204" "relative-import": "an import relative to a package";
    CONFLICTING_IMPORT = "HC205" "conflicting-import": "one name that is imported as two things";
    MODULE_STORE = "HC206" "module-store": "an attribute of a module or of a builtin type that is set";
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn only_listed_modules_are_imported() {
        check("import os", "HC201");
        check("import json, os", "HC201");
        check("import json.decoder", "HC201");
        check("import operator as json", "HC201");
        check("from os import path as json", "HC201");
        check("from urllib import request", "HC201");
        check("from urllib.request import urlopen", "HC201");
        check("import copy", "HC201");
        check("if ok:\n    import gc", "HC201");
        check("from . import shop", "HC204");
        check("from json import *", "HC202");
        check("import math, json\nx = math.pi", "");
        check("import urllib.parse\nx = urllib.parse.quote(x)", "");
        check("from urllib import parse\nx = parse.quote(x)", "");
        check("import datetime as dt\nx = dt.date(2020, 1, 1)", "");
        check(
            "from datetime import time\nx = time.min\ny = time.fromisoformat(z)",
            "",
        );
    }

    #[test]
    fn only_listed_members_are_used() {
        check("from json import load", "HC203");
        check("from string import Formatter", "HC203");
        check("from collections import namedtuple", "HC203");
        check("import json\nx = json.codecs", "HC203");
        check("import re\nx = re.sre_compile", "HC203");
        check("x = json.decoder", "HC203");
        check("import itertools\nx = itertools.count()", "HC203");
        check("import decimal\nx = decimal.getcontext()", "HC203");
        check("import datetime as dt\nx = dt.sys", "HC203");
        check(
            "from datetime import datetime\nx = datetime.strptime(text, '%Y')",
            "",
        );
        check("x = datetime.timezone.utc", "");
    }

    #[test]
    fn a_name_is_imported_as_one_thing() {
        check("import json\nfrom math import pi as json", "HC107 HC205");
        check("import math as m\nimport json as m", "HC205");
        check("import json\nimport json", "");
        check("import json\njson = 1", "HC107");
        check("import json as text\ntext = 1", "HC107");
        check("import math as len", "HC107");
    }

    #[test]
    fn modules_and_types_are_not_changed() {
        check("json.loads = 1", "HC206");
        check("datetime.datetime.x = 1", "HC206");
        check("str.x = 1", "HC206");
        check("json.cache['a'] = 1", "HC203");
        check("del json.x", "HC307");
        check("import json as j\nj.dumps += 1", "HC206");
    }

    #[test]
    fn modules_are_no_values() {
        check("x = json", "HC110");
        check("x = [math.sqrt]", "HC110");
        check("x = getattr(json, 'codecs')", "HC110");
        check("from math import sqrt\nx = sqrt", "HC110");
    }
}
