import PowerSyncSyncRules
import PowerSyncWire

/// Makes a resolved query by hand, as the resolver would; each part of it stands at a place of its own.
final class QueryBuilder {
    /// The row that is synced.
    let primary = Input.row(0)
    /// Its text, which is no SQL: it has the places alone.
    let text: QueryText
    private var sources: [ResolvedSource] = []
    private var places = 0

    /// Begins a query that syncs all columns of a table.
    init(_ table: String, at start: Int = 1000) {
        text = QueryText(plain: String(repeating: "x", count: 5000), at: start)
        _ = row(table)
    }

    /// A place of its own, one byte long.
    func place() -> Site {
        places += 1
        return Site(text, places..<places + 1)
    }

    /// A row of a further table.
    func row(_ table: String) -> Input {
        let input = Input.row(sources.count)
        let content = ResolvedSource.Content.table(QueryBuilder.table(table))
        sources.append(
            ResolvedSource(input: input, content: content, name: ExactText(table), site: place()))
        return input
    }

    /// The value of the elements of an array: behind IN, or of a `json_each` in FROM.
    func element(_ array: Located, isInFrom: Bool = false) -> Located {
        let input = Input.element(sources.count)
        let site = isInFrom ? place() : array.site
        sources.append(
            ResolvedSource(
                input: input, content: .elements(array), name: ExactText("json_each"), site: site))
        return Located(
            .element(input, .value), at: array.site, references: [Reference(input, at: array.site)])
    }

    /// A column of a row.
    func column(_ row: Input, _ name: String) -> Located {
        let site = place()
        return Located(.column(row, ExactText(name)), at: site, references: [Reference(row, at: site)])
    }

    /// A column of the row that is synced.
    func column(_ name: String) -> Located { column(primary, name) }

    /// A call by which the request is read.
    func call(_ source: RequestParameter.Source, _ key: String) -> Located {
        let site = place()
        return Located(
            .parameter(RequestParameter(source, argument: key)), at: site,
            references: [Reference(.request, at: site)])
    }

    /// `auth.user_id()`.
    var user: Located { call(.auth, "sub") }

    /// A text that stands in the query.
    func constant(_ text: String) -> Located { Located(.literal(ScalarValue(text: text)), at: place()) }

    /// `a = b`.
    func equal(_ left: Located, _ right: Located) -> Condition { .equal(left, right, place()) }

    /// `row.name = 'text'`.
    func isText(_ row: Input, _ name: String, _ value: String) -> Condition {
        equal(column(row, name), constant(value))
    }

    /// A call that gives all that the request brings of a source.
    func parameters(_ source: RequestParameter.Source) -> Located {
        let site = place()
        return Located(.request(source), at: site, references: [Reference(.request, at: site)])
    }

    /// `value ->> 'key'`.
    func member(_ value: Located, _ key: String) -> Located {
        let member = Expression.member(value.expression, .literal(ScalarValue(text: key)), .value)
        return Located(member, at: place(), references: value.references)
    }

    /// A condition that is made of values and reads what they read, such as `a < b`.
    func opaque(_ values: Located...) -> Condition {
        let expression = values.dropFirst().reduce(values[0].expression) {
            .comparison(.less, $0, $1.expression)
        }
        return .value(Located(expression, at: place(), references: values.flatMap(\.references)))
    }

    /// The query with its condition.
    func query(_ condition: Condition) -> ResolvedQuery {
        let name = sources[0].name
        return ResolvedQuery(
            site: Site(text, 0..<text.bytes.count), sources: sources, condition: condition,
            primary: primary, type: .named(name), outputs: [.allColumns])
    }

    /// The variants of the query, and what was told.
    func variants(
        _ condition: Condition, acceptsDangerousQueries: Bool = false
    ) -> (variants: [Variant], diagnostics: DiagnosticList) {
        var diagnostics = DiagnosticList()
        var calls = UnauthenticatedParameters()
        let variants = QueryNormalizer.variants(of: query(condition), &calls, &diagnostics)
        if !acceptsDangerousQueries { diagnostics.add(calls.diagnostics) }
        return (variants, diagnostics)
    }

    /// The pattern of a table of the schema `public`.
    static func table(_ name: String) -> TablePattern {
        TablePattern(
            tag: NamePart(ExactText("default")), schema: NamePart(ExactText("public")),
            name: NamePart(ExactText(name)))
    }
}

/// Parts of plans, as tests expect them.
enum PlanParts {
    /// A column of the row that a program or a lookup reads.
    static func column(_ name: String) -> Expression { .column(.row(0), ExactText(name)) }

    /// An output of a stage.
    static func output(_ stage: Int, _ position: Int) -> Expression {
        .column(.row(stage), ExactText("\(position)"))
    }

    /// `column = 'text'` of such a row.
    static func isText(_ name: String, _ value: String) -> Expression {
        .comparison(.equal, column(name), .literal(ScalarValue(text: value)))
    }

    /// The element that is looked at.
    static func element(_ number: Int) -> Expression { .element(.element(number), .value) }

    /// What the request brings.
    static func call(_ source: RequestParameter.Source, _ key: String) -> Expression {
        .parameter(RequestParameter(source, argument: key))
    }

    /// `auth.user_id()`.
    static let user = Expression.parameter(.userID)

    /// A lookup that has no name yet.
    static func lookup(
        _ table: String, expansions: [Expression] = [], filters: [Expression] = [], keys: [Expression] = [],
        outputs: [Expression] = []
    ) -> LookupDefinition {
        LookupDefinition(
            name: ExactText(""), table: QueryBuilder.table(table), expansions: expansions, filters: filters,
            keys: keys, outputs: outputs)
    }
}
