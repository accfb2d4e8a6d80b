package input

import "fmt"

// Part returns the split up to an offset in one of its pieces, and from there on: the lines that begin before it, and all others. It fails
// if the split can't be divided there.
func (s *Split) Part(piece int, offset int64) (before, behind Split, err error) {
	if piece < 0 || piece >= len(s.Pieces) {
		return before, behind, fmt.Errorf("there is no piece %d: the split has %d", piece, len(s.Pieces))
	}
	p := s.Pieces[piece]
	end := p.Offset + p.Length
	if offset < p.Offset || offset > end {
		return before, behind, fmt.Errorf("%s: byte %d isn't in the piece from %d to %d", p.Path, offset, p.Offset, end)
	}
	if Codec(p.Path) != nil && offset > p.Offset && offset < end {
		return before, behind, fmt.Errorf("%s can't be cut: it is compressed", p.Path)
	}
	before.add(s.Pieces[:piece]...)
	before.add(Piece{p.Path, p.Offset, offset - p.Offset})
	behind.add(Piece{p.Path, offset, end - offset})
	behind.add(s.Pieces[piece+1:]...)
	before.Hosts, behind.Hosts = s.Hosts, s.Hosts
	if before.Length == 0 || behind.Length == 0 {
		return before, behind, fmt.Errorf("%s: nothing is before or behind byte %d", p.Path, offset)
	}
	return before, behind, nil
}

func (s *Split) add(pieces ...Piece) {
	for _, p := range pieces {
		if p.Length > 0 {
			s.Pieces = append(s.Pieces, p)
			s.Length += p.Length
		}
	}
}

// Divide cuts the split into so many parts of about the same size, or fewer if it can't be cut so often.
func (s *Split) Divide(parts int) []Split {
	var out []Split
	part := Split{Hosts: s.Hosts}
	size := max(1, s.Length/int64(max(parts, 1))) // of all but the last
	for _, p := range s.Pieces {
		for p.Length > 0 {
			n := p.Length
			if len(out) < parts-1 && Codec(p.Path) == nil {
				n = min(n, size-part.Length)
			}
			part.add(Piece{p.Path, p.Offset, n})
			p.Offset, p.Length = p.Offset+n, p.Length-n
			if len(out) < parts-1 && part.Length >= size {
				out = append(out, part)
				part = Split{Hosts: s.Hosts}
			}
		}
	}
	if part.Length > 0 {
		out = append(out, part)
	}
	return out
}
