import PowerSyncWire

/// Arrays of which a query reads elements.
extension QueryResolver {
    /// Tells of arrays that are made of two rows, or of a row and the request: elements belong to one of them.
    mutating func tellMixedArrays() {
        var owners: [Input: Input] = [.request: .request]
        for source in sources {
            guard case .elements(let array) = source.content else {
                owners[source.input] = source.input
                continue
            }
            var first: Input?
            for reference in array.references {
                // Elements of a constant belong to nothing.
                guard let owner = owners[reference.input] else { continue }
                if let first, first != owner {
                    tellMixture(of: first, with: owner, at: reference.site)
                    break
                }
                first = owner
            }
            owners[source.input] = first
        }
    }

    private mutating func tellMixture(of first: Input, with second: Input, at site: Site) {
        switch (first, second) {
        case (.request, _): tell(.mixesRequestRow, [], at: site)
        case (_, .request): tell(.mixesRowRequest, [], at: site)
        default:
            let name = sources.first { $0.input == first }?.name.text ?? ""
            tell(.mixesRowRow, [name], at: site)
        }
    }
}
