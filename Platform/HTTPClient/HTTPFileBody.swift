/// A region of a file that is the body of a request; it is read as it is sent.
package struct HTTPFileBody: Sendable, Hashable {
    /// The file.
    package var path: String
    /// Where the region begins, in bytes.
    package var offset: Int64
    /// How many bytes it has.
    package var length: Int64

    /// Names a region, neither of whose numbers is negative.
    package init(path: String, offset: Int64, length: Int64) {
        precondition(offset >= 0 && length >= 0, "a region of a file has no negative numbers")
        self.path = path
        self.offset = offset
        self.length = length
    }
}
