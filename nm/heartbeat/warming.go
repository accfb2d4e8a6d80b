package heartbeat

import (
	"context"

	"heddle/nm/warming"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// maxInputs is how many jobs' inputs a heartbeat carries, as each may be large.
const maxInputs = 4

// readAhead tells what jobs will read and for how many maps input is in memory, and takes orders to read ahead.
type readAhead struct {
	*warming.Warmer
	inputs []*warming.Input // told by the heartbeat that is under way
	staged []warming.Staged
}

func (r *readAhead) Registered(*pb.RegisterNodeManagerResponse) { r.Reset() }

func (r *readAhead) Report(req *pb.NodeHeartbeatRequest) {
	r.inputs = r.Inputs()
	r.inputs = r.inputs[:min(len(r.inputs), maxInputs)]
	var inputs []*pb.JobInput
	for _, in := range r.inputs {
		inputs = append(inputs, inputPB(in))
	}
	req.SetHeddleJobInputs(inputs)
	r.staged = r.Staged()
	var staged []*pb.StagedInput
	for _, s := range r.staged {
		m := &pb.StagedInput{}
		m.SetApplicationId(s.App.PB())
		if s.Host != "" {
			m.SetHost(s.Host)
		}
		m.SetMaps(int32(s.Maps))
		staged = append(staged, m)
	}
	req.SetHeddleStagedInputs(staged)
}

func (r *readAhead) Delivered(*pb.NodeHeartbeatResponse) { r.Told(r.inputs, r.staged) }

func (r *readAhead) AppEnded(app records.ApplicationID) { r.End(app) }

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

// Apply takes orders to read ahead of maps.
func (r *readAhead) Apply(_ context.Context, resp *pb.NodeHeartbeatResponse) {
	for _, m := range resp.GetHeddleWarming() {
		o := warming.Order{
			App: records.ApplicationIDFrom(m.GetApplicationId()), User: m.GetUser(), Total: int(m.GetTotal()),
			Waiting: int(m.GetWaiting()),
		}
		files := m.GetFile()
		for _, x := range m.GetRange() {
			if i := int(x.GetFile()); i >= 0 && i < len(files) && x.GetOffset() >= 0 && x.GetLength() > 0 {
				o.Ranges = append(o.Ranges, warming.Range{File: files[i], Offset: x.GetOffset(), Length: x.GetLength(), Position: int(x.GetPosition())})
			}
		}
		r.Order(o)
	}
}
