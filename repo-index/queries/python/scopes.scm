; Scopes: where a name that is bound inside is visible. Defaults, decorators and annotations of a
; definition are evaluated outside of it, so a scope is the body only.
(class_definition body: (_) @scope.class)
(function_definition body: (_) @scope.function)
(lambda body: (_) @scope.block)
[
  (list_comprehension)
  (set_comprehension)
  (dictionary_comprehension)
  (generator_expression)
] @scope.block
