/// A stream subscription of the client (client-core 7).
struct Subscription: Hashable {
    struct Key: Hashable {
        let name: String
        /// JSON text; nil for none.
        let parameters: String?
    }

    let key: Key
    var isActive = false
    var isDefault = false
    /// Seconds; nil for one that nobody asked for.
    var timeToLive: Int64?
    var expiresAt: Int64?
    var lastSynced: Int64?
}

extension ClientModel {
    mutating func subscribe(_ key: Subscription.Key, timeToLive: Int64, now: Int64) {
        if !subscriptions.contains(where: { $0.key == key }) { subscriptions.append(Subscription(key: key)) }
        for index in subscriptions.indices where subscriptions[index].key == key {
            subscriptions[index].timeToLive = timeToLive
            subscriptions[index].expiresAt = now + timeToLive * 1_000_000
        }
    }

    mutating func unsubscribe(_ key: Subscription.Key) {
        for index in subscriptions.indices where subscriptions[index].key == key {
            subscriptions[index].timeToLive = nil
        }
    }

    mutating func prolong(_ active: [Subscription.Key], _ now: Int64) {
        for index in subscriptions.indices where active.contains(subscriptions[index].key) {
            guard let seconds = subscriptions[index].timeToLive else { continue }
            subscriptions[index].expiresAt = now + seconds * 1_000_000
        }
    }

    /// Drops what has ended and returns what a request names (7.2).
    ///
    /// A subscription that was ended stays as long as the service lists its stream, whatever its time of expiry.
    mutating func purged(_ active: [Subscription.Key], _ now: Int64) -> [Subscription.Key] {
        subscriptions.removeAll { subscription in
            guard subscription.timeToLive != nil else { return !subscription.isActive }
            return subscription.expiresAt.map { $0 < now } ?? false
        }
        return subscriptions.filter { $0.timeToLive != nil }.map(\.key)
    }

    mutating func rebuild(_ active: [Subscription.Key], _ now: Int64) -> Outcome {
        if purged(active, now) == requested { return .nothing }
        end()
        return .closed
    }

    /// Compares with the list of a checkpoint (7.3).
    mutating func reconcile(_ checkpoint: Tracked) {
        var rows = subscriptions
        var links: [Subscription.Key: Int] = [:]
        for index in rows.indices {
            rows[index].isActive = false
            rows[index].isDefault = false
        }
        for (position, stream) in checkpoint.streams.enumerated() {
            var isKnown = false
            for index in rows.indices where rows[index].key.name == stream.name {
                isKnown = true
                rows[index].isActive = true
                rows[index].isDefault = stream.isDefault
                links[rows[index].key] = position
            }
            guard !isKnown, stream.isDefault else { continue }
            let key = Subscription.Key(name: stream.name, parameters: nil)
            rows.append(Subscription(key: key, isActive: true, isDefault: true))
            links[key] = position
        }
        subscriptions = rows.filter { $0.timeToLive != nil || links[$0.key] != nil }
        listed = subscriptions.map { subscription in
            let priorities = checkpoint.buckets.values.compactMap { bucket -> Int? in
                switch bucket.reference {
                case .defaultStream(let position):
                    subscription.timeToLive == nil && links[subscription.key] == position
                        ? bucket.effectivePriority : nil
                case .subscription(let position):
                    requested.indices.contains(position) && requested[position] == subscription.key
                        ? bucket.effectivePriority : nil
                case nil: nil
                }
            }
            return (subscription.key, priorities.max())
        }
    }

    mutating func stamp(_ priority: Int?, _ now: Int64) {
        let keys = listed.filter { entry in
            guard let priority else { return true }
            return entry.priority.map { $0 <= priority } ?? false
        }.map(\.key)
        for index in subscriptions.indices where keys.contains(subscriptions[index].key) {
            subscriptions[index].lastSynced = now
        }
    }
}
