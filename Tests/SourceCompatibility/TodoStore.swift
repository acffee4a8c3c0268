import Foundation
import Observation
import PowerSync

/// A list as the app shows it.
struct ListItem: Identifiable, Hashable, Sendable {
    let id: String
    let name: String
    /// How many of its todos are to be done.
    let open: Int
}

/// A todo as the app shows it.
struct TodoItem: Identifiable, Hashable, Sendable {
    let id: String
    let description: String
    let isCompleted: Bool
}

/// What the views of the app show and do.
@Observable
@MainActor
final class TodoStore {
    private(set) var lists: [ListItem] = []
    /// The todos of the list that is open.
    private(set) var todos: [TodoItem] = []
    private(set) var labels: [String] = []
    /// Whether the lists have been read.
    private(set) var isLoaded = false
    private(set) var errorMessage: String?

    let db: PowerSyncDatabaseProtocol
    private let connector: PowerSyncBackendConnectorProtocol
    private let user: String
    @ObservationIgnored private var watches: [Task<Void, Never>] = []
    @ObservationIgnored private var openList: Task<Void, Never>?
    @ObservationIgnored private var subscription: (any SyncStreamSubscription)?

    init(
        filename: String, user: String, connector: PowerSyncBackendConnectorProtocol,
        logger: LoggerProtocol = DefaultLogger()
    ) {
        db = PowerSyncDatabase(schema: appSchema, dbFilename: filename, logger: logger)
        self.connector = connector
        self.user = user
    }

    // MARK: Beginning and end

    /// Makes the table that is the app's own, and shows what is there.
    func start() async throws {
        try await db.writeTransaction { transaction in
            try transaction.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS labels
                        (id TEXT NOT NULL PRIMARY KEY, owner_id TEXT, name TEXT)
                    """,
                parameters: nil)
            for operation in ["INSERT", "UPDATE", "DELETE"] {
                let trigger = "labels_\(operation.lowercased())"
                try transaction.execute(sql: "DROP TRIGGER IF EXISTS \(trigger)", parameters: [])
                try transaction.execute(
                    sql: "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                    parameters: [labelTable.jsonDescription(), trigger, operation])
            }
        }
        watch()
    }

    private func watch() {
        watches = [
            Task { [weak self, db] in
                do {
                    let results = try db.watch(
                        options: WatchOptions(
                            sql: """
                                SELECT id, name, (
                                    SELECT count(*) FROM todos WHERE list_id = lists.id AND completed = 0
                                ) AS open
                                FROM lists ORDER BY name
                                """,
                            throttle: 0.01,
                            mapper: { cursor in
                                try ListItem(
                                    id: cursor.getString(name: "id"),
                                    name: cursor.getString(name: "name"),
                                    open: cursor.getInt(name: "open")
                                )
                            }
                        ))
                    for try await lists in results {
                        self?.lists = lists
                        self?.isLoaded = true
                    }
                } catch {
                    self?.errorMessage = error.localizedDescription
                }
            },
            Task { [weak self, db, user] in
                do {
                    for try await labels in try db.watch(
                        sql: "SELECT name FROM labels WHERE owner_id = ? ORDER BY name",
                        parameters: [user],
                        mapper: { cursor in try cursor.getString(index: 0) }
                    ) {
                        self?.labels = labels
                    }
                } catch {
                    self?.errorMessage = error.localizedDescription
                }
            },
        ]
    }

    /// Connects, and waits for all that is synced without being asked for.
    func connect(options: ConnectOptions? = nil) async throws {
        let usual = ConnectOptions(
            crudThrottle: 0.05,
            retryDelay: 1,
            params: ["app": .string("todos")],
            clientConfiguration: SyncClientConfiguration(
                requestLogger: SyncRequestLoggerConfiguration(
                    requestLevel: .headers, logger: db.logger, logSeverity: .debug, logTag: "Requests")
            ),
            appMetadata: ["version": "1.0"],
            checkpointMode: .requests()
        )
        try await db.connect(connector: connector, options: options ?? usual)
        // The lists have a priority of 1, all else the usual one.
        try await db.waitForFirstSync(priority: 1)
        try await db.waitForFirstSync()
    }

    /// Removes all that is the user's.
    func signOut() async throws {
        try await subscription?.unsubscribe()
        try await db.disconnectAndClear()
    }

    /// Ends everything.
    func close() async throws {
        for watch in watches { watch.cancel() }
        openList?.cancel()
        try await db.disconnect()
        try await db.close()
    }

    // MARK: Lists

    /// Adds a list and returns its id.
    @discardableResult
    func addList(named name: String) async throws -> ListItem.ID {
        let id = UUID().uuidString
        try await db.execute(
            sql: "INSERT INTO lists (id, owner_id, name) VALUES (?, ?, ?)",
            parameters: [id, user, name]
        )
        return id
    }

    /// Removes a list with all its todos.
    func deleteList(_ list: ListItem.ID) async throws {
        try await db.writeTransaction { transaction in
            try transaction.execute(sql: "DELETE FROM todos WHERE list_id = ?", parameters: [list])
            try transaction.execute(sql: "DELETE FROM lists WHERE id = ?", parameters: [list])
        }
    }

    /// Returns how many lists and todos are here, as of one moment.
    func count() async throws -> (lists: Int, todos: Int) {
        try await db.readTransaction { transaction in
            let lists = try transaction.get(
                sql: "SELECT count(*) FROM lists", parameters: [], mapper: { try $0.getInt(index: 0) })
            let todos = try transaction.get(
                sql: "SELECT count(*) FROM todos", parameters: [], mapper: { try $0.getInt(index: 0) })
            return (lists: lists, todos: todos)
        }
    }

    /// Waits for all that is on the server now.
    func refresh(within seconds: TimeInterval) async throws {
        let request = try await db.requestCheckpoint()
        try await request.waitForSync(timeout: seconds)
    }

    // MARK: Todos

    /// Asks for the todos of a list, waits for them, and shows them.
    func open(_ list: ListItem.ID) async throws {
        let stream = db.syncStream(name: "list_todos", params: ["list_id": .string(list)])
        let subscription = try await stream.subscribe(ttl: 60, priority: BucketPriority(1))
        self.subscription = subscription
        try await subscription.waitForFirstSync()
        openList?.cancel()
        openList = Task { [weak self, db] in
            do {
                for try await todos in try db.watch(
                    sql: """
                        SELECT id, description, completed FROM todos
                        WHERE list_id = ? ORDER BY description
                        """,
                    parameters: [list],
                    mapper: { cursor in
                        try TodoItem(
                            id: cursor.getString(name: "id"),
                            description: cursor.getString(name: "description"),
                            isCompleted: cursor.getBooleanOptional(name: "completed") ?? false
                        )
                    }
                ) {
                    self?.todos = todos
                }
            } catch {
                self?.errorMessage = error.localizedDescription
            }
        }
    }

    /// What is known of the subscription to the todos of the list that is open.
    var openListStatus: SyncStreamStatus? {
        guard let subscription else { return nil }
        return db.currentStatus.forStream(stream: subscription)
    }

    /// Adds a todo to a list that is there.
    func addTodo(_ description: String, to list: ListItem.ID) async throws {
        try await db.writeTransaction { [user] transaction in
            let name = try transaction.getOptional(
                sql: "SELECT name FROM lists WHERE id = ?",
                parameters: [list],
                mapper: { cursor in try cursor.getString(name: "name") }
            )
            guard name != nil else { throw TodoError.noSuchList }
            try transaction.execute(
                sql: """
                    INSERT INTO todos (id, list_id, owner_id, description, completed)
                    VALUES (uuid(), ?, ?, ?, ?)
                    """,
                parameters: [list, user, description, false]
            )
        }
    }

    /// Says of a todo whether it is done.
    func set(_ todo: TodoItem.ID, isCompleted: Bool) async throws {
        try await db.execute(
            sql: "UPDATE todos SET completed = ? WHERE id = ?",
            parameters: [isCompleted, todo]
        )
    }

    // MARK: Labels

    /// Adds a label, to the table that is the app's own.
    func addLabel(_ name: String) async throws {
        try await db.execute(
            sql: "INSERT INTO labels (id, owner_id, name) VALUES (uuid(), ?, ?)",
            parameters: [user, name]
        )
    }
}
