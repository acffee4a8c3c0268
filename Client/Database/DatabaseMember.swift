/// What a group tells each of its instances.
final class DatabaseMember: Sendable {
    /// The instance's status.
    let status: StatusFeed
    /// The instance's watches.
    let changes = TableChanges()

    init(status: SharedStatus) { self.status = StatusFeed(of: status) }
}
