; Bindings: a name that a scope binds. With @in, the scope is the one of that node.
(assignment left: (identifier) @binding.assignment) @whole
(assignment left: (pattern_list (identifier) @binding.assignment)) @whole
(assignment left: (tuple_pattern (identifier) @binding.assignment)) @whole
(type_alias_statement left: (type (identifier) @binding.assignment)) @whole
(augmented_assignment left: (identifier) @binding.other)
(named_expression name: (identifier) @binding.other)
(for_statement left: (identifier) @binding.other)
(for_in_clause left: (identifier) @binding.other)
(pattern_list (identifier) @binding.other)
(pattern_list (list_splat_pattern (identifier) @binding.other))
(tuple_pattern (identifier) @binding.other)
(list_pattern (identifier) @binding.other)
(as_pattern alias: (as_pattern_target (identifier) @binding.other))
(as_pattern alias: (as_pattern_target (tuple (identifier) @binding.other)))
(case_pattern (dotted_name . (identifier) @binding.other .))

(function_definition
  parameters: (parameters
    [
      (identifier) @binding.parameter
      (default_parameter name: (identifier) @binding.parameter)
      (typed_parameter [
        (identifier) @binding.parameter
        (list_splat_pattern (identifier) @binding.parameter)
        (dictionary_splat_pattern (identifier) @binding.parameter)
      ])
      (typed_default_parameter name: (identifier) @binding.parameter)
      (list_splat_pattern (identifier) @binding.parameter)
      (dictionary_splat_pattern (identifier) @binding.parameter)
    ])
  body: (_) @in)
(lambda
  parameters: (lambda_parameters
    [
      (identifier) @binding.parameter
      (default_parameter name: (identifier) @binding.parameter)
      (list_splat_pattern (identifier) @binding.parameter)
      (dictionary_splat_pattern (identifier) @binding.parameter)
    ])
  body: (_) @in)

(global_statement (identifier) @binding.global)
(nonlocal_statement (identifier) @binding.nonlocal)
