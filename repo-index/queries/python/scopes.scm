; Scopes: what binds names that are visible inside only.
(class_definition name: (_) @name superclasses: (_)? @bases body: (_) @body) @class
(function_definition
  name: (_) @name parameters: (_) @parameters return_type: (_)? @annotation body: (_) @body) @function
(lambda parameters: (_)? @parameters body: (_) @body) @lambda
(list_comprehension) @comprehension.list
(set_comprehension) @comprehension.set
(dictionary_comprehension) @comprehension.dict
(generator_expression) @comprehension.generator

(decorated_definition definition: (_) @body) @decorated
(decorator) @decorator

(typed_parameter type: (_) @annotation) @parameter
(default_parameter name: (_) @name value: (_) @value) @parameter
(typed_default_parameter name: (_) @name type: (_) @annotation value: (_) @value) @parameter
(keyword_separator) @only.named
(list_splat_pattern) @splat
(dictionary_splat_pattern) @splat.named
(list_splat) @splat
(dictionary_splat) @splat.named
