/// The numbers of the store, the pipeline and the publication (DESIGN.md); tests make them smaller.
///
/// What is a part of the file's format stands with the format instead.
package struct StoreLimits: Sendable, Hashable {
    /// The numbers of production.
    package init() {}

    // Data on disk.

    /// How many bytes a segment has, unless one operation alone is longer.
    package var segmentBytes = 256 << 10
    /// How many bytes of segments one transaction has begun, an operation aside; beyond, all of them are stored.
    ///
    /// It is more than a group usually comes to, so that a bucket gets one segment.
    package var begunSegmentBytes = 8 << 20
    /// Below how many bytes a segment is small.
    package var smallSegmentBytes = 64 << 10
    /// From how many small segments on they are merged; the index of `bucket` says the same number.
    package var smallSegments: Int64 = 16
    /// How many bytes of segments one transaction of the merger writes.
    package var mergeBytes = 1 << 20
    /// Among how many of a bucket's segments, from the newest on, the merger looks for small ones.
    package var lookedSegments = 4096
    /// Rows with more bytes of text are not synced (service 4.6).
    package var rowBytes = 15 << 20
    /// In how many places one row may be: each is an operation (LANGUAGE.md 6).
    package var rowPlaces = 100_000
    /// How many bytes the operations of one row may have, each with its own copy of the record and its bucket's name.
    package var rowOperationBytes = 256 << 20
    /// How many bytes the names of the buckets of one row may have.
    package var rowNameBytes = 16 << 20
    /// Up to how many bytes the values that an update may leave out are read again rather than kept.
    package var largeValueBytes = 1 << 10
    /// How many rows of a table that is emptied one transaction removes (service 4.6), or of a stopped stream.
    package var truncatedRows = 2000
    /// How many bytes of segments, large values, places or lookups of a stopped stream one transaction removes, or of places
    /// of a table that is emptied, the last of them aside.
    package var removedBytes = 1 << 20
    /// How many versions of lookups one transaction of upkeep looks at.
    package var trimmedVersions = 2000
    /// The lookups of a stream are looked over for versions that nobody asks for behind so many operations, or more if the
    /// number below says so.
    package var trimmedOperations: Int64 = 1000
    /// Of so many versions that have stayed one operation is waited for.
    ///
    /// An operation leaves two at most that nobody asks for: so these are half as many as the others.
    package var trimmedParts = 4
    /// The length at which the write-ahead log begins anew.
    package var logBytes = 32 << 20
    /// How much of its file the log keeps behind that.
    package var keptLogBytes = 8 << 20
    /// After how long without a write the log is emptied.
    package var logRest = Duration.seconds(5)
    /// From how many free bytes on the file is made shorter, if they are also more than the share below; then until it is
    /// half as many.
    package var freeBytes = 16 << 20
    /// The file is made shorter if more than one part of so many is free; then until it is half as much.
    package var freeParts = 4
    /// How many pages are given back at a time.
    package var vacuumedPages = 256
    /// How long upkeep waits before it looks again, behind a write or while somebody else writes.
    package var upkeepPause = Duration.milliseconds(100)
    /// How long upkeep lets others write before one of its steps takes its turn among them.
    package var upkeepPatience = Duration.seconds(5)
    /// How long upkeep waits behind a failure.
    package var upkeepRetry = Duration.seconds(60)

    // Pipeline.

    /// About how many bytes of text a batch has, unless one row is longer.
    package var batchBytes = 1 << 20
    /// The same of rows of which each element of an array may have a record of its own, with all of the row once more.
    package var multipliedBytes = 16 << 10
    /// How many changes a batch has at most.
    package var batchChanges = 2000
    /// How many bytes are in the pipeline, a batch counted three times.
    package var pipelineBytes = 12 << 20
    /// How many bytes of the stream are kept while a transaction is not to be seen that waits for this service as for a standby.
    ///
    /// Postgres lets it go once the link has taken all of the log: of one with more behind it, or in it, nobody ever sees
    /// anything. So it is much more than a batch.
    package var aheadBytes = 64 << 20
    /// From how many bytes on what was evaluated is written before more is evaluated: a batch may come to much more than it
    /// had.
    package var evaluatedBytes = 64 << 20
    /// How many bytes of batches one transaction stores.
    package var groupBytes = 2 << 20
    /// The same if all of them are rows of a snapshot.
    package var snapshotGroupBytes = 4 << 20
    /// From how many operations on the rest of a group is left to another transaction: a row that goes has as many as it had
    /// places, of which its source says nothing.
    package var groupOperations: Int64 = 50_000
    /// The same in bytes of records: a row has as many as it has places.
    package var groupRecordBytes = 32 << 20
    /// After how many segments that one transaction stores it says that it goes on: a row alone may come to as many.
    package var progressSegments = 1000
    /// Up to how many changes of a batch are evaluated by whoever submits it: a hand-over takes longer.
    package var submittedRows = 16
    /// Up to how many bytes such a batch has.
    package var submittedBytes = 16 << 10
    /// After how many rows evaluation lets others run.
    package var evaluatedRows = 256
    /// How many rows a piece of a snapshot has.
    package var pieceRows = 10_000
    /// How long a position waits to be stored that has nothing else with it.
    package var positionDelay = Duration.milliseconds(50)

    // Publication.

    /// How many changed buckets one publication names; beyond, streams read theirs anew.
    package var changedBuckets = 65_536
    /// How many changed keys of lookups one publication names; beyond, streams that use any read theirs anew.
    package var changedLookups = 65_536
    /// How many bytes the published operations of one bucket have.
    package var publishedFrameBytes = 1 << 20
    /// How many bytes the operations of one publication have.
    package var publicationBytes = 4 << 20
    /// How many bytes published frames take that are kept: operations, what was made of them to be sent, and the frames.
    package var keptFrameBytes = 8 << 20
    /// From how many bytes of operations on that were read from the disk and are being sent, each counted once, streams wait
    /// in turn.
    package var readFrameBytes = 16 << 20
    /// How many publications wait for a stream before it reads everything anew.
    package var mailboxPublications = 16
    /// How many buckets and keys these name: while a stream finds out what it holds they are those of all others, too.
    package var mailboxNames = 65_536

    /// How many bytes of lookups one evaluation of a request reads.
    package var lookupBytes = 16 << 20

    // SQLite.

    /// How many bytes the connection that writes caches.
    package var writerCacheBytes = 8 << 20
    /// How many bytes each connection that reads caches.
    package var readerCacheBytes = 1 << 20
    /// How many connections read at most.
    package var readers = 4
}
