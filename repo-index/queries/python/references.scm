; References: where a name is used. Several patterns may fit one identifier; the most telling one
; wins, in the order call, write, attribute, keyword, import, name.
(call function: (identifier) @reference.call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @reference.call))

(assignment left: (attribute object: (_) @receiver attribute: (identifier) @reference.write))
(pattern_list (attribute object: (_) @receiver attribute: (identifier) @reference.write))
(tuple_pattern (attribute object: (_) @receiver attribute: (identifier) @reference.write))
(augmented_assignment
  left: (attribute object: (_) @receiver attribute: (identifier) @reference.write))
(delete_statement (attribute object: (_) @receiver attribute: (identifier) @reference.write))

(attribute object: (_) @receiver attribute: (identifier) @reference.attribute)
(keyword_argument name: (identifier) @reference.keyword)

(import_statement name: (dotted_name (identifier) @reference.import))
(aliased_import name: (dotted_name (identifier) @reference.import))
(import_from_statement name: (dotted_name (identifier) @reference.import))
(import_from_statement module_name: (dotted_name (identifier) @reference.import))
(relative_import (dotted_name (identifier) @reference.import))

(identifier) @reference.name
