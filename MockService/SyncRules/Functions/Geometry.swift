/// A geometry of PostGIS (service 6.10); how many numbers a position has is the same in all of it.
indirect enum Geometry {
    /// One position; without numbers it is empty.
    case point([Double])
    /// Positions in a line.
    case lineString([[Double]])
    /// Rings, the outer one first.
    case polygon([[[Double]]])
    /// Points, lines or polygons alone, by the name of all.
    case multiple(Kind, [Geometry])
    /// Geometries of any kind.
    case collection([Geometry])

    /// The kinds of `multiple`.
    enum Kind: String {
        /// Points alone.
        case points = "MultiPoint"
        /// Lines alone.
        case lineStrings = "MultiLineString"
        /// Polygons alone.
        case polygons = "MultiPolygon"
    }

    /// What the numbers of a position are.
    struct Dimensions: Equatable {
        /// Whether there is a height.
        var hasHeight = false
        /// Whether there is a measure, the last one.
        var hasMeasure = false

        /// How many numbers a position has.
        var count: Int { 2 + (hasHeight ? 1 : 0) + (hasMeasure ? 1 : 0) }
    }
}
