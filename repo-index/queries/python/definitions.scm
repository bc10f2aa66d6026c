; Definitions: @definition.* is the whole node, @name its name. Names bound by assignment become
; definitions when their scope is a module or a class (see bindings.scm).
(class_definition name: (identifier) @name body: (_) @body) @definition.class
(function_definition name: (identifier) @name body: (_) @body) @definition.function

(class_definition
  superclasses: (argument_list [(identifier) (attribute) (subscript) (call)] @base)) @owner

(decorated_definition (decorator (_) @decorator) definition: (_) @owner) @decorated

(class_definition body: (block . (expression_statement (string) @doc))) @owner
(function_definition body: (block . (expression_statement (string) @doc))) @owner
(module . (expression_statement (string) @doc)) @owner

; self.name = value, anywhere in a method.
(assignment
  left: (attribute object: (identifier) @self attribute: (identifier) @name)
  (#any-of? @self "self" "cls")) @definition.instance_attribute
(assignment
  left: (pattern_list (attribute object: (identifier) @self attribute: (identifier) @name))
  (#any-of? @self "self" "cls")) @definition.instance_attribute
