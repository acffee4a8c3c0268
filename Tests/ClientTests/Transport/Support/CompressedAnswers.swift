extension String {
    /// The head of an answer with lines, the last on its connection, whose body is compressed and comes in chunks.
    static func head(compressedAs coding: String, status: Int = 200) -> String {
        "HTTP/1.1 \(status) -\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: \(coding)\r\n"
            + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    }
}
