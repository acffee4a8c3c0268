/// Elements of which the smallest one is taken first.
package struct MinHeap<Element: Comparable & Sendable>: Sendable {
    /// None is smaller than the one at half its place.
    private var elements: [Element]

    /// Makes a heap of elements in any order.
    package init(_ elements: [Element] = []) {
        // An array in order is a heap.
        self.elements = elements.sorted()
    }

    /// How many there are.
    package var count: Int { elements.count }

    /// The smallest element; nil if there is none.
    package var first: Element? { elements.first }

    /// Adds an element.
    package mutating func insert(_ element: Element) {
        elements.append(element)
        var place = elements.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard elements[place] < elements[parent] else { return }
            elements.swapAt(place, parent)
            place = parent
        }
    }

    /// Takes the smallest element; nil if there is none.
    package mutating func popFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let first = elements.first else { return last }
        elements[0] = last
        var place = 0
        while true {
            var smallest = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < elements.count && elements[child] < elements[smallest] {
                smallest = child
            }
            guard smallest != place else { return first }
            elements.swapAt(place, smallest)
            place = smallest
        }
    }
}
