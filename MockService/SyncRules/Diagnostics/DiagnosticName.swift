/// What a diagnostic is about: a stable name that the command shows, and the `ruleId` of SARIF (LANGUAGE.md 10).
///
/// Its text is the real service's where that has one (service 6.2 to 6.11); else it is ours.
package enum DiagnosticName: String, Sendable, Hashable, CaseIterable {
    // Document.

    /// A text that is no YAML, in the words of the parser.
    case yamlSyntax = "yaml-syntax"
    /// “The key '…' stands here twice”.
    case yamlDuplicateKey = "yaml-duplicate-key"
    /// “Sync Config must be a YAML map”.
    case rootNotMap = "root-not-map"
    /// “There is no sync config in this text”.
    case emptyDocument = "empty-document"
    /// “Unknown key '…'”.
    case unknownKey = "unknown-key"
    /// “must be a string”.
    case keyNotText = "key-not-text"
    /// “Expected a scalar here”.
    case expectedScalar = "expected-scalar"
    /// “Expected a sequence here”.
    case expectedSequence = "expected-sequence"
    /// “Expected a map here”.
    case expectedMap = "expected-map"
    /// “must be a boolean”.
    case mustBeBoolean = "must-be-boolean"
    /// “must be numeric”.
    case mustBeNumeric = "must-be-numeric"
    /// “must be < 4”.
    case mustBeBelowFour = "must-be-below-four"
    /// “'streams' are required”.
    case streamsMissing = "streams-missing"
    /// “'bucket_definitions' or 'streams' is required”.
    case definitionsMissing = "definitions-missing"
    /// “There is no stream and no bucket definition here, so nothing is synced”.
    case noDefinitions = "no-definitions"
    /// “'bucket_definitions' are not supported by the new compiler”.
    case definitionsInEdition3 = "definitions-in-edition-3"
    /// “Sync streams require edition 2 or later”.
    case streamNeedsEdition2 = "stream-needs-edition-2"
    /// “This is using an alpha version of Sync Streams”.
    case alphaStreams = "alpha-streams"
    /// “Common table expressions are not supported without the `sync_config_compiler` option”.
    case cteNeedsCompiler = "cte-needs-compiler"
    /// “Multiple queries not supported without the `sync_config_compiler` option”.
    case queriesNeedCompiler = "queries-need-compiler"
    /// “Common table expressions require edition 3”.
    case cteNeedsEdition3 = "cte-needs-edition-3"
    /// “One of `queries` or `query` must be given”.
    case queryXorQueries = "query-xor-queries"
    /// “Duplicate stream or bucket definition”.
    case duplicateDefinition = "duplicate-definition"
    /// “'…' bucket definition must be an object”.
    case definitionNotMap = "definition-not-map"
    /// “Missing required keys: data”.
    case dataMissing = "data-missing"
    /// “Parameters must be a string or array of strings”.
    case parametersNotText = "parameters-not-text"
    /// “Invalid priority, expected a number between 0 and 3 (inclusive)”.
    case priorityInvalid = "priority-invalid"
    /// “Cannot set priority multiple times”.
    case priorityTwice = "priority-twice"
    /// “Expected one of seconds, milliseconds, microseconds, nanoseconds”.
    case precisionInvalid = "precision-invalid"
    /// “'timestamp_max_precision' requires 'timestamps_iso8601' to be enabled”.
    case precisionNeedsISO = "precision-needs-iso"
    /// “'unstable_sqlite_expression_engine' requires edition: 3”.
    case engineNeedsEdition = "engine-needs-edition"
    /// “'unstable_sqlite_expression_engine' requires 'fixed_json_extract' to be enabled”.
    case engineNeedsJSON = "engine-needs-json"
    /// “Storage version … is not supported”.
    case storageVersionOld = "storage-version-old"
    /// “Storage version 3 is unstable, a later version may have to replicate everything anew”.
    case storageVersionUnstable = "storage-version-unstable"
    /// “Nothing happens with rows of an event '…'. …”.
    case eventUnknown = "event-unknown"
    /// “Without a column '…' no row sets a write checkpoint”.
    case eventColumnMissing = "event-column-missing"

    // Statement.

    /// A query that is no SQL: what stands there, and what may.
    case sqlSyntax = "sql-syntax"
    /// A query that ends too early: what may follow.
    case sqlUnexpectedEnd = "sql-unexpected-end"
    /// “Expected a SELECT statement”.
    case notASelect = "not-a-select"
    /// “Only a single SELECT statement is supported”.
    case severalStatements = "several-statements"
    /// “… is not supported”.
    case unsupportedClause = "unsupported-clause"
    /// “FOR is not supported”.
    case unsupportedLock = "unsupported-lock"
    /// “DISTINCT is not supported”.
    case distinctUnsupported = "distinct-unsupported"
    /// “… is not supported”.
    case joinUnsupported = "join-unsupported"
    /// “Table with name … already exists in scope”.
    case duplicateSource = "duplicate-source"
    /// “YAML joins the lines of this text, so the comment before this goes on over it …”.
    case hiddenByComment = "hidden-by-comment"
    /// “SQL parameters are not allowed”.
    case sqlParameter = "sql-parameter"
    /// “This is nested deeper than … levels”.
    case nestingTooDeep = "nesting-too-deep"
    /// “This is larger than the limit of …”.
    case tooLarge = "too-large"

    // Expressions of edition 3.

    /// “Unknown function”.
    case unknownFunction = "unknown-function"
    /// “Forbidden call: Sync definitions must be deterministic”.
    case notDeterministic = "not-deterministic"
    /// “Expected at least … arguments”.
    case tooFewArguments = "too-few-arguments"
    /// “Expected at most … arguments”.
    case tooManyArguments = "too-many-arguments"
    /// “Unknown request function”.
    case unknownRequestFunction = "unknown-request-function"
    /// “Invalid schema in function name”.
    case invalidFunctionSchema = "invalid-function-schema"
    /// “Expected a single argument here”.
    case singleArgument = "single-argument"
    /// “Expected no arguments here”.
    case noArguments = "no-arguments"
    /// “.user_id() is only available on auth schema”.
    case userIDElsewhere = "user-id-elsewhere"
    /// “…() is not supported on subqueries”.
    case schemaOnSubquery = "schema-on-subquery"
    /// “DISTINCT, ORDER BY, FILTER and OVER clauses are not supported”.
    case aggregateClauses = "aggregate-clauses"
    /// “LIKE expressions are not currently supported”.
    case likeUnsupported = "like-unsupported"
    /// “Unsupported binary operator”.
    case operatorUnsupported = "operator-unsupported"
    /// “Unary minus is not currently supported”.
    case minusUnsupported = "minus-unsupported"
    /// “Invalid SQLite cast”.
    case castInvalid = "cast-invalid"
    /// “This expression is not supported by PowerSync”.
    case expressionUnsupported = "expression-unsupported"
    /// “Invalid position for subqueries. Subqueries are only supported in WHERE clauses”.
    case subqueryPosition = "subquery-position"
    /// “Sync streams can only select from actual tables”.
    case listInColumn = "list-in-column"

    // Columns and sources of edition 3.

    /// “Invalid unqualified reference since multiple tables are in scope”.
    case ambiguousColumn = "ambiguous-column"
    /// “Table '…' has not been added in a FROM clause here”.
    case unknownSource = "unknown-source"
    /// “Column not found in subquery”.
    case columnNotInSubquery = "column-not-in-subquery"
    /// “There is a column named '…' already”.
    case duplicateColumn = "duplicate-column"
    /// “Expected this subquery to have … columns, it actually has …”.
    case columnCount = "column-count"
    /// “Must return a single expression column”.
    case singleColumn = "single-column"
    /// “Common-table expression must return a single column”.
    case cteSingleColumn = "cte-single-column"
    /// “* columns are not allowed in subqueries or common table expressions”.
    case starInSubquery = "star-in-subquery"
    /// “* columns are not supported here”.
    case starElsewhere = "star-elsewhere"
    /// “Must have a result column selecting from a table”.
    case noTableColumn = "no-table-column"
    /// “Sync streams can only select from a single table, and this one already selects from '…'”.
    case twoPrimaries = "two-primaries"
    /// “This attempts to sync a connection parameter”.
    case syncsRequest = "syncs-request"
    /// “The name of this column is unspecified, consider adding an alias”.
    case unnamedColumn = "unnamed-column"
    /// “A '*' column after aliased columns may give unexpected results: If the source row contains a …”.
    case starAfterAlias = "star-after-alias"

    // Conditions of edition 3.

    /// “This expression already references row data, so it can't also reference connection parameters …”.
    case mixesRowRequest = "mixes-row-request"
    /// “This expression already references connection parameters, so it can't also reference row data …”.
    case mixesRequestRow = "mixes-request-row"
    /// “This expression already references '…', so it can't also reference data from this row …”.
    case mixesRowRow = "mixes-row-row"
    /// “This table-valued function depends on request data and can't be partitioned”.
    case requestTablePartitioned = "request-table-partitioned"
    /// “Unable to associate this filter with added tables”.
    case unassociatedFilter = "unassociated-filter"
    /// “IN (SELECT …) and && cannot stand behind NOT or within another expression, only with AND and OR …”.
    case nestedSubquery = "nested-subquery"
    /// “For Sync Streams, inner OR operators need to be moved up to be top-level filters”.
    case tooManyTerms = "too-many-terms"
    /// “This stream defines too many buckets (…, at most … are allowed)”.
    case tooManyBucketsDefined = "too-many-buckets-defined"

    // Warnings of edition 3.

    /// “The source row is synced under its alias '…' instead of '…'”.
    case aliasRenames = "alias-renames"
    /// “This common table expression isn't referenced”.
    case unreferencedCte = "unreferenced-cte"
    /// “This common table expression shadows the name of a table in the source schema”.
    case cteShadows = "cte-shadows"
    /// “This table could not be found in the source schema”.
    case tableUnknown = "table-unknown"
    /// “Column not found”.
    case columnUnknown = "column-unknown"
    /// “Clients can send any value for this unauthenticated parameter, so this is unsuitable for …”.
    case unauthenticatedParameter = "unauthenticated-parameter"
    /// “This is no JSON array, so IN has an error for each row …”.
    case listNotJSON = "list-not-json"
    /// “table_suffix() is always empty because this table is not selected with a wildcard name”.
    case suffixEmpty = "suffix-empty"

    // Editions 1 and 2.

    /// “Unquoted identifiers are converted to lower-case. Use "…" instead”.
    case foldedName = "folded-name"
    /// “Potentially dangerous query based on parameters set by the client”.
    case dangerousQuery = "dangerous-query"
    /// “A null in this array equals NULL …”.
    case nullInArray = "null-in-array"
    /// “Clients subscribe to this stream by default, but it uses subscription parameters”.
    case defaultUsesSubscription = "default-uses-subscription"
    /// “Table ….… not found”.
    case tableNotFound = "table-not-found"
    /// “Column not found: …”.
    case columnNotFound = "column-not-found"
    /// “Undefined reference: …”.
    case undefinedReference = "undefined-reference"
    /// “Function '…' is not defined”.
    case functionNotDefined = "function-not-defined"
    /// “alias is required”.
    case aliasRequired = "alias-required"
    /// “Query must return an "id" column”.
    case idRequired = "id-required"
    /// “Operator not supported: …”.
    case legacyOperator = "legacy-operator"
    /// “Operator … is not supported”.
    case legacyUnary = "legacy-unary"
    /// “… not supported here”.
    case legacyForm = "legacy-form"
    /// “CAST not supported for '…'”.
    case legacyCast = "legacy-cast"
    /// “Unsupported member operation …”.
    case legacyMember = "legacy-member"
    /// “JSON path must start with $”.
    case jsonPath = "json-path"
    /// A constant expression without a value, in the words of the evaluator.
    case constantFails = "constant-fails"
    /// “Must SELECT from a single table”.
    case singleTable = "single-table"
    /// “Bucket parameters must be defined”.
    case parametersUndefined = "parameters-undefined"
    /// “Bucket parameters must match for each parameter query within a bucket”.
    case parametersDiffer = "parameters-differ"
    /// “Query must cover all bucket parameters. Expected: … Got: …”.
    case parametersUncovered = "parameters-uncovered"
    /// “Left and right sides of OR must use the same parameters, or split into separate queries”.
    case orDiffers = "or-differs"
    /// “Cannot have multiple array input parameters”.
    case twoArrayInputs = "two-array-inputs"
    /// “Cannot have multiple IN expressions on bucket parameters”.
    case twoInExpressions = "two-in-expressions"
    /// “Cannot use bucket parameters on the right side of IN operators”.
    case parameterRightOfIn = "parameter-right-of-in"
    /// “Cannot use bucket parameters in expressions”.
    case parameterInExpression = "parameter-in-expression"
    /// “Parameter match clauses cannot be used here”.
    case matchElsewhere = "match-elsewhere"
    /// “Parameter match expression is not allowed here”.
    case matchInColumn = "match-in-column"
    /// “Cannot use table values and parameters in the same clauses”.
    case mixedClause = "mixed-clause"
    /// “Table aliases not supported in parameter queries”.
    case tableAlias = "table-alias"
    /// “Subqueries are not supported yet”.
    case subqueryUnsupported = "subquery-unsupported"
    /// “* is not supported here - use explicit columns”.
    case starInParameters = "star-in-parameters"
    /// “Priority must be a simple integer literal”.
    case priorityLiteral = "priority-literal"
    /// “Invalid value for priority, must be between 0 and 3 (inclusive)”.
    case priorityRange = "priority-range"
    /// “Negations are not allowed here”.
    case negation
    /// “Stream subqueries can't use OR filters”.
    case subqueryOr = "subquery-or"
    /// “Unsupported condition for stream subqueries”.
    case subqueryCondition = "subquery-condition"
    /// “This subquery must return exactly one column”.
    case subqueryColumn = "subquery-column"
    /// “For IN subqueries, the left operand must either depend on the row to sync or stream parameters”.
    case subqueryOperand = "subquery-operand"
    /// “Unsupported subquery without parameter, must depend on request parameters”.
    case subqueryIndependent = "subquery-independent"

    // The source.

    /// “Table "…"."…" not found”.
    case sourceTableMissing = "source-table-missing"
    /// “Table "…"."…" is not part of publication '…'”.
    case sourceTableNotPublished = "source-table-not-published"
}
