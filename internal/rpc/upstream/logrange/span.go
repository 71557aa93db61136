package logrange

import "math"

// Span is a range of blocks, both ends included. From is never above To.
type Span struct{ From, To uint64 }

// Width is how many blocks the span has, or the largest number if that is one more.
func (s Span) Width() uint64 {
	if s.To-s.From == math.MaxUint64 {
		return math.MaxUint64
	}
	return s.To - s.From + 1
}

// Parts is how many spans of a width cover this one. No width is taken for one block.
func (s Span) Parts(width uint64) uint64 { return (s.Width()-1)/max(width, 1) + 1 }

// Split cuts the span into parts of at most width blocks, in order. The caller has looked at
// Parts: there may be very many.
func (s Span) Split(width uint64) []Span {
	width = max(width, 1)
	list := make([]Span, 0, s.Parts(width))
	for from := s.From; ; from += width {
		if s.To-from < width {
			return append(list, Span{from, s.To})
		}
		list = append(list, Span{from, from + width - 1})
	}
}
