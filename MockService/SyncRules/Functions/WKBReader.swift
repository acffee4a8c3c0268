/// Reads well-known binary (OGC 06-103r4, section 8) with the flags of PostGIS for height, measure and reference system.
///
/// No count is believed before the bytes for it are there.
struct WKBReader {
    private let bytes: [UInt8]
    private var position = 0
    /// What the numbers of a position are; known once a header was read.
    private(set) var dimensions = Geometry.Dimensions()

    /// How deep collections may be nested.
    private static let depth = 32

    /// Reads from the first one of these bytes.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private static let outside = EvaluationError(message: "Attempt to access memory outside buffer bounds")

    /// Reads a geometry.
    ///
    /// - Throws: `EvaluationError` if the bytes end too early, or are of no kind that is known.
    mutating func geometry() throws(EvaluationError) -> Geometry { try geometry(depth: 0) }

    private mutating func geometry(depth: Int) throws(EvaluationError) -> Geometry {
        guard depth < Self.depth else { throw EvaluationError(message: "The geometry is nested too deep.") }
        let isLittle = try byte() == 1
        let code = try integer(isLittle)
        // The reference system says nothing here.
        if code & 0x2000_0000 != 0 { _ = try integer(isLittle) }
        let kind = code & 0x0FFF_FFFF
        let thousands = kind / 1000
        dimensions.hasHeight = code & 0x8000_0000 != 0 || thousands == 1 || thousands == 3
        dimensions.hasMeasure = code & 0x4000_0000 != 0 || thousands == 2 || thousands == 3
        switch kind % 1000 {
        case 1:
            let numbers = try numbers(isLittle)
            return .point(numbers.allSatisfy(\.isNaN) ? [] : numbers)
        case 2: return .lineString(try positions(isLittle))
        case 3:
            var rings: [[[Double]]] = []
            for _ in 0..<(try count(isLittle, bytesEach: 4)) { rings.append(try positions(isLittle)) }
            return .polygon(rings)
        case 4: return .multiple(.points, try geometries(isLittle, depth))
        case 5: return .multiple(.lineStrings, try geometries(isLittle, depth))
        case 6: return .multiple(.polygons, try geometries(isLittle, depth))
        case 7: return .collection(try geometries(isLittle, depth))
        default: throw EvaluationError(message: "The kind of the geometry is not known.")
        }
    }

    private mutating func geometries(_ isLittle: Bool, _ depth: Int) throws(EvaluationError) -> [Geometry] {
        let outer = dimensions
        var geometries: [Geometry] = []
        for _ in 0..<(try count(isLittle, bytesEach: 5)) {
            geometries.append(try geometry(depth: depth + 1))
        }
        dimensions = outer
        return geometries
    }

    private mutating func positions(_ isLittle: Bool) throws(EvaluationError) -> [[Double]] {
        var positions: [[Double]] = []
        for _ in 0..<(try count(isLittle, bytesEach: dimensions.count * 8)) {
            positions.append(try numbers(isLittle))
        }
        return positions
    }

    private mutating func numbers(_ isLittle: Bool) throws(EvaluationError) -> [Double] {
        var numbers: [Double] = []
        for _ in 0..<dimensions.count {
            numbers.append(Double(bitPattern: try bits(8, isLittle)))
        }
        return numbers
    }

    /// Reads how many things of at least so many bytes follow.
    private mutating func count(_ isLittle: Bool, bytesEach size: Int) throws(EvaluationError) -> Int {
        let count = Int(try integer(isLittle))
        guard count <= (bytes.count - position) / size else { throw Self.outside }
        return count
    }

    private mutating func integer(_ isLittle: Bool) throws(EvaluationError) -> UInt32 {
        UInt32(truncatingIfNeeded: try bits(4, isLittle))
    }

    private mutating func byte() throws(EvaluationError) -> UInt8 {
        UInt8(truncatingIfNeeded: try bits(1, true))
    }

    private mutating func bits(_ count: Int, _ isLittle: Bool) throws(EvaluationError) -> UInt64 {
        guard count <= bytes.count - position else { throw Self.outside }
        let part = bytes[position..<position + count]
        position += count
        var bits: UInt64 = 0
        for index in part.indices {
            let byte = isLittle ? part[part.startIndex + part.endIndex - 1 - index] : part[index]
            bits = bits << 8 | UInt64(byte)
        }
        return bits
    }
}
