/// A call by which a query reads something of the request.
struct RequestRead: Hashable {
    /// Where the value comes from.
    let source: RequestParameter.Source
    /// Where the call stands.
    let site: Site

    /// Whether nobody but the one who signs tokens can choose the value.
    var isAuthenticated: Bool { source == .auth }

    /// The calls in an expression, in the order of the text.
    static func reads(in expression: Expression, at references: [Reference]) -> [RequestRead] {
        let places = references.filter { $0.input == .request }
        return zip(sources(in: expression), places).map { RequestRead(source: $0, site: $1.site) }
    }

    private static func sources(in expression: Expression) -> [RequestParameter.Source] {
        switch expression {
        case .parameter(let parameter): [parameter.source]
        case .request(let source): [source]
        default: expression.children.flatMap { sources(in: $0) }
        }
    }
}
