package warming

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Inputs reads what a node says of what jobs will read. Splits that are nonsense count as ones without a file.
func Inputs(all []*pb.JobInput) []Input {
	var out []Input
	for _, m := range all {
		in := Input{App: records.ApplicationIDFrom(m.GetApplicationId())}
		files, hosts := m.GetFile(), m.GetHost()
		for _, s := range m.GetSplit() {
			var split Split
			if i := int(s.GetFile()); s.HasFile() && i >= 0 && i < len(files) && s.GetOffset() >= 0 && s.GetLength() > 0 {
				split.File, split.Offset, split.Length = files[i], s.GetOffset(), s.GetLength()
			}
			for _, h := range s.GetHost() {
				if h >= 0 && int(h) < len(hosts) {
					split.Hosts = append(split.Hosts, hosts[h])
				}
			}
			in.Splits = append(in.Splits, split)
		}
		out = append(out, in)
	}
	return out
}

// StagedFrom reads what a node says of input in memory.
func StagedFrom(all []*pb.StagedInput) (out []Staged) {
	for _, m := range all {
		out = append(out, Staged{records.ApplicationIDFrom(m.GetApplicationId()), m.GetHost(), int(m.GetMaps())})
	}
	return out
}

// OrdersPB returns how a node is told orders.
func OrdersPB(all []Order) []*pb.WarmingOrder {
	var out []*pb.WarmingOrder
	for _, o := range all {
		m := &pb.WarmingOrder{}
		m.SetApplicationId(o.App.PB())
		m.SetUser(o.User)
		m.SetTotal(int32(o.Total))
		m.SetWaiting(int32(o.Waiting))
		var files []string
		index := map[string]int32{}
		var ranges []*pb.WarmRange
		for _, r := range o.Ranges {
			i, ok := index[r.File]
			if !ok {
				i = int32(len(files))
				index[r.File], files = i, append(files, r.File)
			}
			p := &pb.WarmRange{}
			p.SetFile(i)
			p.SetOffset(r.Offset)
			p.SetLength(r.Length)
			p.SetPosition(int32(r.Position))
			ranges = append(ranges, p)
		}
		m.SetFile(files)
		m.SetRange(ranges)
		out = append(out, m)
	}
	return out
}
