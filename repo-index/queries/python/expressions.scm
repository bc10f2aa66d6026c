; Expressions whose value, or whose receiver, can be followed.
(identifier) @name
(attribute object: (_) @receiver attribute: (_) @name) @attribute
(call function: (_) @receiver arguments: (_) @arguments) @call
(subscript value: (_) @receiver subscript: (_) @value) @subscript
(keyword_argument name: (_) @name value: (_) @value) @keyword
(await) @await
(parenthesized_expression) @group
(expression_list) @tuple
(tuple) @tuple
(pattern_list) @tuple
(tuple_pattern) @tuple
(list_pattern) @tuple
(as_pattern_target) @group
(list) @list
(set) @set
(dictionary) @dict
(pair key: (_) @name value: (_) @value) @pair
(conditional_expression) @conditional
(boolean_operator left: (_) @target right: (_) @value) @boolean
(binary_operator left: (_) @target right: (_) @value) @binary
(comparison_operator) @literal.bool
(not_operator) @literal.bool
(string) @string
(concatenated_string) @string
(integer) @literal.number
(float) @literal.number
(true) @literal.bool
(false) @literal.bool
(none) @literal.none

; In annotations.
(type) @group
(generic_type) @generic
(type_parameter) @tuple
(union_type) @union
(member_type) @member
