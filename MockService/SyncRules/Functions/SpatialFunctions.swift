import PowerSyncWire

/// Functions on geometries (service 6.10), which are blobs or the hexadecimal digits that stand for PostGIS columns.
enum SpatialFunctions {
    /// `st_asgeojson` (RFC 7946): positions without their measure.
    ///
    /// - Throws: `EvaluationError` if the bytes are no geometry.
    static func geoJSON(_ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard let (geometry, dimensions) = try read(value) else { return .null }
        return ScalarValue(text: json(geometry, dimensions).text)
    }

    /// `st_astext`: well-known text.
    ///
    /// - Throws: `EvaluationError` if the bytes are no geometry.
    static func text(_ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard let (geometry, dimensions) = try read(value) else { return .null }
        return ScalarValue(text: text(geometry, dimensions))
    }

    /// `st_x` and `st_y`: a number of a point, NULL for any other geometry.
    ///
    /// - Throws: `EvaluationError` if the bytes are no geometry.
    static func coordinate(_ index: Int, of value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard let (geometry, _) = try read(value), case .point(let numbers) = geometry,
            numbers.indices.contains(index)
        else { return .null }
        return .real(numbers[index])
    }

    /// Nil for NULL and numbers.
    private static func read(
        _ value: ScalarValue
    ) throws(EvaluationError) -> (Geometry, Geometry.Dimensions)? {
        let bytes: [UInt8]
        switch value {
        case .blob(let blob): bytes = blob
        case .text(let text): bytes = HexDigits.bytes(text.text)
        case .null, .integer, .wide, .real: return nil
        }
        var reader = WKBReader(bytes)
        let geometry = try reader.geometry()
        return (geometry, reader.dimensions)
    }

    private static func json(_ geometry: Geometry, _ dimensions: Geometry.Dimensions) -> JSON {
        switch geometry {
        case .collection(let geometries):
            let members = geometries.map { json($0, dimensions) }
            return .object([
                JSONMember("type", .string("GeometryCollection")), JSONMember("geometries", .array(members)),
            ])
        case .point, .lineString, .polygon, .multiple:
            let name =
                switch geometry {
                case .point: "Point"
                case .lineString: "LineString"
                case .polygon: "Polygon"
                case .multiple(let kind, _): kind.rawValue
                case .collection: "GeometryCollection"
                }
            return .object([
                JSONMember("type", .string(name)),
                JSONMember("coordinates", coordinates(geometry, dimensions)),
            ])
        }
    }

    private static func coordinates(_ geometry: Geometry, _ dimensions: Geometry.Dimensions) -> JSON {
        func position(_ numbers: [Double]) -> JSON {
            let count = dimensions.hasHeight ? 3 : 2
            return .array(
                numbers.prefix(count).map { $0.isFinite ? .number(NumberText.javaScript($0)) : .null })
        }
        return switch geometry {
        case .point(let numbers): position(numbers)
        case .lineString(let positions): .array(positions.map(position))
        case .polygon(let rings): .array(rings.map { .array($0.map(position)) })
        case .multiple(_, let geometries), .collection(let geometries):
            .array(geometries.map { coordinates($0, dimensions) })
        }
    }

    private static func text(_ geometry: Geometry, _ dimensions: Geometry.Dimensions) -> String {
        let name =
            switch geometry {
            case .point: "POINT"
            case .lineString: "LINESTRING"
            case .polygon: "POLYGON"
            case .multiple(let kind, _): kind.rawValue.uppercased()
            case .collection: "GEOMETRYCOLLECTION"
            }
        let letters = (dimensions.hasHeight ? "Z" : "") + (dimensions.hasMeasure ? "M" : "")
        let content = content(geometry, dimensions)
        let isSpaced = !letters.isEmpty || content == "EMPTY"
        return name + (letters.isEmpty ? "" : " " + letters) + (isSpaced ? " " : "") + content
    }

    /// What stands behind the name of a kind.
    private static func content(_ geometry: Geometry, _ dimensions: Geometry.Dimensions) -> String {
        switch geometry {
        case .point(let numbers): list(numbers.isEmpty ? [] : [position(numbers)])
        case .lineString(let positions): list(positions.map(position))
        case .polygon(let rings): list(rings.map { list($0.map(position)) })
        case .multiple(let kind, let geometries):
            list(
                geometries.map { part in
                    // Points stand in the list without parentheses of their own.
                    if kind == .points, case .point(let numbers) = part, !numbers.isEmpty {
                        return position(numbers)
                    }
                    return content(part, dimensions)
                })
        case .collection(let geometries): list(geometries.map { text($0, dimensions) })
        }
    }

    private static func list(_ parts: [String]) -> String {
        parts.isEmpty ? "EMPTY" : "(" + parts.joined(separator: ",") + ")"
    }

    private static func position(_ numbers: [Double]) -> String {
        numbers.map(NumberText.javaScript).joined(separator: " ")
    }
}
