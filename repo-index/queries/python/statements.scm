; Statements that bind names, tell what something is, or give something back.
(assignment left: (_) @target right: (_)? @value type: (_)? @annotation) @assign
(type_alias_statement left: (_) @target right: (_) @value) @assign
(augmented_assignment left: (_) @target right: (_) @value) @augment
(named_expression name: (_) @target value: (_) @value) @named
(for_statement left: (_) @target right: (_) @value) @loop
(for_in_clause left: (_) @target right: (_) @value) @loop
(as_pattern alias: (_) @target) @as
(with_item value: (_) @value) @with
(except_clause value: (_)? @value alias: (_)? @target) @except
(if_statement condition: (_) @condition consequence: (_) @body) @if
(elif_clause condition: (_) @condition consequence: (_) @body) @if
(while_statement condition: (_) @condition body: (_) @body) @if
(assert_statement) @assert
(return_statement) @return
(yield) @yield
(delete_statement) @delete
(global_statement) @global
(nonlocal_statement) @nonlocal
(case_pattern) @case
(expression_statement) @statement
