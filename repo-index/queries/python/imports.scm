; Imports: what a module takes from another one.
(import_statement) @import
(import_from_statement module_name: (_) @module) @import.from
(aliased_import name: (_) @name alias: (_) @target) @import.alias
(wildcard_import) @import.all
(dotted_name) @import.name
