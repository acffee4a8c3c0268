extension DiagnosticName {
    /// How bad it is, unless the edition says otherwise.
    package var severity: Severity {
        switch self {
        case .alphaStreams, .storageVersionUnstable, .unnamedColumn, .starAfterAlias, .aliasRenames,
            .unreferencedCte, .cteShadows, .tableUnknown, .columnUnknown, .unauthenticatedParameter,
            .suffixEmpty, .foldedName, .dangerousQuery, .defaultUsesSubscription, .tableNotFound,
            .columnNotFound, .sourceTableMissing, .noDefinitions, .hiddenByComment,
            .listNotJSON, .nullInArray, .eventUnknown, .eventColumnMissing:
            .warning
        default: .fatal
        }
    }

    /// The message with its places filled in.
    ///
    /// - Parameters:
    ///   - arguments: What stands in the places of the text, in order; as many as it has.
    ///   - isLegacy: Whether it is of editions 1 and 2, which say some things otherwise.
    /// - Returns: The message.
    package func message(_ arguments: [String] = [], isLegacy: Bool = false) -> String {
        let whole = isLegacy ? legacyText ?? text : text
        let parts = whole.split(separator: "{}", omittingEmptySubsequences: false)
        precondition(parts.count == arguments.count + 1, "The text of \(rawValue) has other places.")
        let shown = arguments.map { Self.shortened($0) } + [""]
        return zip(parts, shown).map { "\($0)\($1)" }.joined()
    }

    /// A text as it stands in a message: of a very long one the beginning, since a name may be told in thousands of them.
    static func shortened(_ text: String) -> String {
        let limit = 2_000
        guard text.utf8.count > limit else { return text }
        return String(text.unicodeScalars.prefix(limit)) + "…"
    }

    /// The text of editions 1 and 2 where that is another one.
    package var legacyText: String? {
        switch self {
        case .notASelect: "Only SELECT statements are supported"
        case .unsupportedLock: "SELECT FOR is not supported"
        default: nil
        }
    }

    /// The text, with `{}` for what the place says; also what SARIF says of the rule.
    package var text: String {
        switch self {
        case .yamlSyntax: "{}"
        case .yamlDuplicateKey: "The key '{}' stands here twice."
        case .rootNotMap: "Sync Config must be a YAML map."
        case .emptyDocument: "There is no sync config in this text."
        case .unknownKey: "Unknown key '{}'."
        case .keyNotText: "must be a string"
        case .expectedScalar: "Expected a scalar here."
        case .expectedSequence: "Expected a sequence here."
        case .expectedMap: "Expected a map here."
        case .mustBeBoolean: "must be a boolean"
        case .mustBeNumeric: "must be numeric"
        case .mustBeBelowFour: "must be < 4"
        case .streamsMissing: "'streams' are required."
        case .definitionsMissing: "'bucket_definitions' or 'streams' is required"
        case .noDefinitions: "There is no stream and no bucket definition here, so nothing is synced."
        case .definitionsInEdition3:
            "'bucket_definitions' are not supported by the new compiler. Consider using "
                + "https://powersync-community.github.io/bucket-definitions-to-sync-streams/ to "
                + "translate them to streams."
        case .streamNeedsEdition2:
            "Sync streams require edition 2 or later. Try adding a `config: {edition: 2} block "
                + "to the end of the file.`"
        case .alphaStreams:
            "This is using an alpha version of Sync Streams. We recommend upgrading "
                + "`config.edition` to version 3 to support the latest features."
        case .cteNeedsCompiler:
            "Common table expressions are not supported without the `sync_config_compiler` option."
        case .queriesNeedCompiler: "Multiple queries not supported without the `sync_config_compiler` option."
        case .cteNeedsEdition3: "Common table expressions require edition 3."
        case .queryXorQueries: "One of `queries` or `query` must be given."
        case .duplicateDefinition: "Duplicate stream or bucket definition."
        case .definitionNotMap: "'{}' bucket definition must be an object"
        case .dataMissing: "Missing required keys: data"
        case .parametersNotText: "Parameters must be a string or array of strings"
        case .priorityInvalid: "Invalid priority, expected a number between 0 and 3 (inclusive)."
        case .priorityTwice: "Cannot set priority multiple times."
        case .precisionInvalid: "Expected one of seconds, milliseconds, microseconds, nanoseconds."
        case .precisionNeedsISO: "'timestamp_max_precision' requires 'timestamps_iso8601' to be enabled."
        case .engineNeedsEdition: "'unstable_sqlite_expression_engine' requires edition: 3."
        case .engineNeedsJSON:
            "'unstable_sqlite_expression_engine' requires 'fixed_json_extract' to be enabled."
        case .storageVersionOld: "Storage version {} is not supported"
        case .storageVersionUnstable:
            "Storage version 3 is unstable, a later version may have to replicate everything anew."
        case .eventUnknown:
            "Nothing happens with rows of an event '{}'. Rows of 'write_checkpoints' set write checkpoints."
        case .eventColumnMissing: "Without a column '{}' no row sets a write checkpoint."
        case .sqlSyntax: "{}"
        case .sqlUnexpectedEnd: "{}"
        case .notASelect: "Expected a SELECT statement"
        case .severalStatements: "Only a single SELECT statement is supported"
        case .unsupportedClause: "{} is not supported"
        case .unsupportedLock: "FOR is not supported"
        case .distinctUnsupported: "DISTINCT is not supported"
        case .joinUnsupported: "{} is not supported"
        case .duplicateSource: "Table with name {} already exists in scope"
        case .hiddenByComment:
            "YAML joins the lines of this text, so the comment before this goes on over it, and it is no "
                + "part of the query. Write the query as a literal block, behind |, or put the comment at "
                + "its end."
        case .sqlParameter:
            "SQL parameters are not allowed. Use parameter functions instead: "
                + "auth.parameter('name'), connection.parameter('name') or "
                + "subscription.parameter('name')"
        case .nestingTooDeep: "This is nested deeper than {} levels."
        case .tooLarge: "This is larger than the limit of {}."
        case .unknownFunction: "Unknown function"
        case .notDeterministic: "Forbidden call: Sync definitions must be deterministic."
        case .tooFewArguments: "Expected at least {} arguments"
        case .tooManyArguments: "Expected at most {} arguments"
        case .unknownRequestFunction: "Unknown request function"
        case .invalidFunctionSchema: "Invalid schema in function name"
        case .singleArgument: "Expected a single argument here"
        case .noArguments: "Expected no arguments here"
        case .userIDElsewhere: ".user_id() is only available on auth schema"
        case .schemaOnSubquery: "{}() is not supported on subqueries"
        case .aggregateClauses: "DISTINCT, ORDER BY, FILTER and OVER clauses are not supported"
        case .likeUnsupported: "LIKE expressions are not currently supported."
        case .operatorUnsupported: "Unsupported binary operator"
        case .minusUnsupported: "Unary minus is not currently supported"
        case .castInvalid: "Invalid SQLite cast"
        case .expressionUnsupported: "This expression is not supported by PowerSync"
        case .subqueryPosition:
            "Invalid position for subqueries. Subqueries are only supported in WHERE clauses."
        case .listInColumn: "Sync streams can only select from actual tables"
        case .jsonPath: "JSON path must start with $."
        case .constantFails: "{}"
        case .ambiguousColumn: "Invalid unqualified reference since multiple tables are in scope"
        case .unknownSource: "Table '{}' has not been added in a FROM clause here."
        case .columnNotInSubquery: "Column not found in subquery."
        case .duplicateColumn: "There is a column named '{}' already."
        case .columnCount: "Expected this subquery to have {} columns, it actually has {}"
        case .singleColumn: "Must return a single expression column"
        case .cteSingleColumn: "Common-table expression must return a single column"
        case .starInSubquery: "* columns are not allowed in subqueries or common table expressions"
        case .starElsewhere: "* columns are not supported here"
        case .noTableColumn: "Must have a result column selecting from a table"
        case .twoPrimaries:
            "Sync streams can only select from a single table, and this one already selects from '{}'."
        case .syncsRequest:
            "This attempts to sync a connection parameter. Only values from the source database "
                + "can be synced."
        case .unnamedColumn: "The name of this column is unspecified, consider adding an alias."
        case .starAfterAlias:
            "A '*' column after aliased columns may give unexpected results: If the source row "
                + "contains a column named '{}', '*' would overwrite it."
        case .mixesRowRequest:
            "This expression already references row data, so it can't also reference connection "
                + "parameters unless the two are compared with an equals operator."
        case .mixesRequestRow:
            "This expression already references connection parameters, so it can't also "
                + "reference row data unless the two are compared with an equals operator."
        case .mixesRowRow:
            "This expression already references '{}', so it can't also reference data from this "
                + "row unless the two are compared with an equals operator."
        case .requestTablePartitioned:
            "This table-valued function depends on request data and can't be partitioned. If "
                + "possible, try rewriting the query to not use = operators on this function and "
                + "multiple other tables."
        case .unassociatedFilter: "Unable to associate this filter with added tables"
        case .nestedSubquery:
            "IN (SELECT …) and && cannot stand behind NOT or within another expression, only with AND "
                + "and OR around them: any row or element that differs would do."
        case .tooManyTerms:
            "For Sync Streams, inner OR operators need to be moved up to be top-level filters. "
                + "Applying that to this query results in too many inner nodes."
        case .tooManyBucketsDefined:
            "This stream defines too many buckets ({}, at most {} are allowed). Split it into "
                + "several streams, or move OR operators into several queries."
        case .aliasRenames:
            "The source row is synced under its alias '{}' instead of '{}'. When joining, an "
                + "alias is often added only to make the ON clause easier to write; if that is the "
                + "case here, the rename is likely unintentional and clients querying '{}' will see "
                + "zero rows. Drop the alias on the source table, or quote it (`AS \"{}\"`) to keep "
                + "the rename and silence this warning."
        case .unreferencedCte: "This common table expression isn't referenced."
        case .cteShadows: "This common table expression shadows the name of a table in the source schema."
        case .tableUnknown: "This table could not be found in the source schema."
        case .columnUnknown: "Column not found."
        case .unauthenticatedParameter:
            "Clients can send any value for this unauthenticated parameter, so this is "
                + "unsuitable for authorization. Consider further constraining this with an "
                + "authenticated parameter."
        case .listNotJSON:
            "This is no JSON array, so IN has an error for each row, and none is synced. Write "
                + "ARRAY['a', 'b'] or '[\"a\", \"b\"]'."
        case .suffixEmpty:
            "table_suffix() is always empty because this table is not selected with a wildcard name."
        case .foldedName: "Unquoted identifiers are converted to lower-case. Use \"{}\" instead."
        case .dangerousQuery:
            "Potentially dangerous query based on parameters set by the client. The client can "
                + "send any value for these parameters so it's not a good place to do authorization."
        case .nullInArray:
            "A null in this array equals NULL: whoever has NULL for '{}' gets each row that has one. Ask for "
                + "IS NOT NULL in the parameter query."
        case .defaultUsesSubscription:
            "Clients subscribe to this stream by default, but it uses subscription parameters. "
                + "Default subscriptions use null for all parameters, which can lead to unintentional "
                + "results. Try removing the parameter or not marking the stream as auto-subscribe."
        case .tableNotFound: "Table {}.{} not found"
        case .columnNotFound: "Column not found: {}"
        case .undefinedReference: "Undefined reference: {}"
        case .functionNotDefined: "Function '{}' is not defined"
        case .aliasRequired: "alias is required"
        case .idRequired: "Query must return an \"id\" column"
        case .legacyOperator: "Operator not supported: {}"
        case .legacyUnary: "Operator {} is not supported"
        case .legacyForm: "{} not supported here"
        case .legacyCast: "CAST not supported for '{}'"
        case .legacyMember: "Unsupported member operation {}"
        case .singleTable: "Must SELECT from a single table"
        case .parametersUndefined: "Bucket parameters must be defined"
        case .parametersDiffer: "Bucket parameters must match for each parameter query within a bucket"
        case .parametersUncovered: "Query must cover all bucket parameters. Expected: {} Got: {}"
        case .orDiffers:
            "Left and right sides of OR must use the same parameters, or split into separate "
                + "queries. {} != {}"
        case .twoArrayInputs: "Cannot have multiple array input parameters"
        case .twoInExpressions: "Cannot have multiple IN expressions on bucket parameters"
        case .parameterRightOfIn: "Cannot use bucket parameters on the right side of IN operators"
        case .parameterInExpression: "Cannot use bucket parameters in expressions"
        case .matchElsewhere: "Parameter match clauses cannot be used here"
        case .matchInColumn: "Parameter match expression is not allowed here"
        case .mixedClause: "Cannot use table values and parameters in the same clauses"
        case .tableAlias: "Table aliases not supported in parameter queries"
        case .subqueryUnsupported: "Subqueries are not supported yet"
        case .starInParameters: "* is not supported here - use explicit columns"
        case .priorityLiteral: "Priority must be a simple integer literal"
        case .priorityRange: "Invalid value for priority, must be between 0 and 3 (inclusive)."
        case .negation: "Negations are not allowed here"
        case .subqueryOr: "Stream subqueries can't use OR filters"
        case .subqueryCondition: "Unsupported condition for stream subqueries"
        case .subqueryColumn: "This subquery must return exactly one column"
        case .subqueryOperand:
            "For IN subqueries, the left operand must either depend on the row to sync or stream "
                + "parameters."
        case .subqueryIndependent: "Unsupported subquery without parameter, must depend on request parameters"
        case .sourceTableMissing: "Table \"{}\".\"{}\" not found."
        case .sourceTableNotPublished:
            "Table \"{}\".\"{}\" is not part of publication '{}'. Run: `ALTER PUBLICATION {} ADD "
                + "TABLE \"{}\".\"{}\"`."
        }
    }
}
