/// A function of the language, called by its name (service 6.10).
///
/// `json_each`, which has rows, and the functions of requests and tables are none of these.
package enum Function: String, Sendable, Hashable, CaseIterable {
    /// Capital letters.
    case upper
    /// Small letters.
    case lower
    /// How long a text or BLOB is.
    case length
    /// A part of a text.
    case substring
    /// A part of a text, in the SQLite engine.
    case substr
    /// Where a text contains another one, from 1.
    case instr
    /// Bytes as hexadecimal digits.
    case hex
    /// Bytes as base64.
    case base64
    /// The 16 bytes of a UUID.
    case uuidBlob = "uuid_blob"
    /// The name of a value's type.
    case typeof
    /// The first value that is not NULL.
    case ifnull
    /// The second or the third value, by the first one.
    case iif
    /// A member of a JSON text.
    case jsonExtract = "json_extract"
    /// How many elements a JSON array has.
    case jsonArrayLength = "json_array_length"
    /// The names of a JSON object's members.
    case jsonKeys = "json_keys"
    /// Whether a text is JSON.
    case jsonValid = "json_valid"
    /// Seconds since 1970.
    case unixepoch
    /// A date and a time of the day.
    case datetime
    /// A geometry as GeoJSON.
    case geoJSON = "st_asgeojson"
    /// A geometry as text.
    case geometryText = "st_astext"
    /// The first coordinate of a point.
    case pointX = "st_x"
    /// The second coordinate of a point.
    case pointY = "st_y"
}
