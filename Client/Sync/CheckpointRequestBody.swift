import PowerSyncWire

/// What the service is told to ask for a checkpoint that includes all uploads so far: an id, with which it marks that
/// checkpoint (client-core 8.4).
package struct CheckpointRequestBody: Sendable, Hashable {
    /// The id of this client.
    package var clientID: String
    /// The number; the service keeps the greatest.
    package var id: Int64

    /// Makes a body of its fields.
    package init(clientID: String, id: Int64) {
        self.clientID = clientID
        self.id = id
    }

    /// What `POST /sync/checkpoint-request` carries.
    package var json: JSON {
        .object([
            JSONMember("client_id", .string(clientID)),
            JSONMember("checkpoint_request_id", .string(String(id))),
        ])
    }
}
