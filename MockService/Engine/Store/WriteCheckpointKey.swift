/// Whose a write checkpoint is (service 1.8).
package enum WriteCheckpointKey {
    /// The key by which the write checkpoints of a client are kept.
    ///
    /// A "/" in the user's id is spelled otherwise: it would make the key one of another user's client.
    package static func text(userID: String, clientID: String?) -> String {
        // By bytes: with a mark behind it a "/" is another character, and the same byte in the key.
        let bytes = userID.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x25: Array("%25".utf8)
            case 0x2F: Array("%2F".utf8)
            default: [byte]
            }
        }
        let user = String(decoding: bytes, as: UTF8.self)
        return clientID.map { $0.isEmpty ? user : "\(user)/\($0)" } ?? user
    }
}
