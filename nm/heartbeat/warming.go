package heartbeat

import (
	"heddle/nm/warming"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// maxInputs is how many jobs' inputs a heartbeat carries, as each may be large.
const maxInputs = 4

// jobInputs puts into a heartbeat what jobs will read, and returns what it has put there.
func (u *Updater) jobInputs(req *pb.NodeHeartbeatRequest) []*warming.Input {
	if u.o.Warming == nil {
		return nil
	}
	all := u.o.Warming.Inputs()
	all = all[:min(len(all), maxInputs)]
	var out []*pb.JobInput
	for _, in := range all {
		out = append(out, inputPB(in))
	}
	req.SetHeddleJobInputs(out)
	return all
}

// staged puts into a heartbeat for how many maps input is in memory, and returns what it has put there.
func (u *Updater) staged(req *pb.NodeHeartbeatRequest) []warming.Staged {
	if u.o.Warming == nil {
		return nil
	}
	all := u.o.Warming.Staged()
	var out []*pb.StagedInput
	for _, s := range all {
		m := &pb.StagedInput{}
		m.SetApplicationId(s.App.PB())
		if s.Host != "" {
			m.SetHost(s.Host)
		}
		m.SetMaps(int32(s.Maps))
		out = append(out, m)
	}
	req.SetHeddleStagedInputs(out)
	return all
}

// names numbers strings in the order in which they come.
type names struct {
	all  []string
	byID map[string]int32
}

func (n *names) of(name string) int32 {
	i, ok := n.byID[name]
	if !ok {
		if n.byID == nil {
			n.byID = map[string]int32{}
		}
		i = int32(len(n.all))
		n.byID[name], n.all = i, append(n.all, name)
	}
	return i
}

func inputPB(in *warming.Input) *pb.JobInput {
	var files, hosts names
	var splits []*pb.JobSplit
	for _, s := range in.Splits {
		m := &pb.JobSplit{}
		if s.File != "" {
			m.SetFile(files.of(s.File))
			m.SetOffset(s.Offset)
			m.SetLength(s.Length)
		}
		var at []int32
		for _, h := range s.Hosts {
			at = append(at, hosts.of(h))
		}
		m.SetHost(at)
		splits = append(splits, m)
	}
	m := &pb.JobInput{}
	m.SetApplicationId(in.App.PB())
	m.SetFile(files.all)
	m.SetHost(hosts.all)
	m.SetSplit(splits)
	return m
}

// warm takes orders to read ahead of maps.
func (u *Updater) warm(orders []*pb.WarmingOrder) {
	if u.o.Warming == nil {
		return
	}
	for _, m := range orders {
		o := warming.Order{
			App: records.ApplicationIDFrom(m.GetApplicationId()), User: m.GetUser(), Total: int(m.GetTotal()), Waiting: int(m.GetWaiting()),
		}
		files := m.GetFile()
		for _, r := range m.GetRange() {
			if i := int(r.GetFile()); i >= 0 && i < len(files) && r.GetOffset() >= 0 && r.GetLength() > 0 {
				o.Ranges = append(o.Ranges, warming.Range{File: files[i], Offset: r.GetOffset(), Length: r.GetLength(), Position: int(r.GetPosition())})
			}
		}
		u.o.Warming.Order(o)
	}
}
