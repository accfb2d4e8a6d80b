package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/javafmt"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// signals are the signal commands that a container accepts.
var signals = []pb.SignalContainerCommand{
	pb.SignalContainerCommand_OUTPUT_THREAD_DUMP, pb.SignalContainerCommand_GRACEFUL_SHUTDOWN,
	pb.SignalContainerCommand_FORCEFUL_SHUTDOWN,
}

func signalNames() string {
	var names []string
	for _, c := range signals {
		names = append(names, c.String())
	}
	return strings.Join(names, ", ")
}

var container = verb{
	name: "container", title: "container",
	short: "List, show, signal, suspend and resume containers",
	options: func() []option.Option {
		return []option.Option{
			{Name: "list", Arg: "Application Attempt ID", Help: "Lists the containers of an attempt, or of the current one of an application."},
			{Name: "status", Arg: "Container ID", Help: "Shows a container."},
			{Name: "suspend", Arg: "Container ID", Help: "Suspends a container on its node: to the lowest level that the node can reach, with a breath now and then. -level, -hold and -breathe change that."},
			{Name: "level", Arg: "Level", Help: "With -suspend: shrunk (it runs with less), frozen (it is suspended and keeps its memory) or reclaimed (its memory is paged out)."},
			{Name: "hold", Arg: "Amounts", Help: "With -suspend: the amounts that it keeps, such as memory-mb=512,vcores=1. By default a shrunk one loses a step of preemption."},
			{Name: "breathe", Arg: "Time", Help: "With -suspend: the time between two breaths, in which the container runs until its heartbeats have gone out, such as 45s, or never."},
			{Name: "resume", Arg: "Container ID", Help: "Resumes a suspended or shrunk container."},
			{Name: "listSuspended", Help: "Lists the suspended and shrunk containers of all applications that you may see."},
			{Name: "signal", Arg: "Container ID [Command]", Values: 3, Help: "Signals a container. The command is one of " + signalNames() + "; the first one is the default."},
			{Name: "shell", Instead: "use Hadoop's `yarn container -shell` on a node of YARN, or a shell of the node itself: nodes of Heddle serve none"},
		}
	},
	run: func(s *session, l *option.Line) error {
		for _, name := range []string{"level", "hold", "breathe", "resume"} {
			switch {
			case !l.Has(name):
			case name == "resume" && l.Has("suspend"):
				return errors.New("-suspend and -resume exclude each other")
			case name != "resume" && !l.Has("suspend"):
				return fmt.Errorf("-%s goes with -suspend only", name)
			}
		}
		switch {
		case len(l.Args) > 0:
			return s.usage()
		case l.Has("status"):
			return s.containerStatus(l.Value("status"))
		case l.Has("list"):
			return s.containerList(l.Value("list"))
		case l.Has("suspend"):
			return s.containerSuspend(l)
		case l.Has("resume"):
			return s.containerControl(l.Value("resume"), "resume", nil)
		case l.Has("listSuspended"):
			return s.containerListSuspended()
		case l.Has("signal"):
			return s.containerSignal(l.Values("signal"))
		}
		return s.invalid()
	},
}

var containerColumns = []int{30, 20, 20, 20, 20, 20, 35}

func (s *session) containerList(text string) error {
	id, err := attemptNamed(s, text)
	if err != nil {
		return err
	}
	if s.json {
		return s.printREST(attemptPath(id)+"/containers", nil)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.GetContainersRequest{}
	req.SetApplicationAttemptId(id.PB())
	resp, err := cluster.Call(s, c, protocol.GetContainers, req)
	if err != nil {
		return err
	}
	s.print("Total number of containers :%d\n", len(resp.GetContainers()))
	s.write(javafmt.Row(containerColumns, "Container-Id", "Start Time", "Finish Time", "State", "Host",
		"Node Http Address", "LOG-URL"))
	for _, r := range resp.GetContainers() {
		s.write(javafmt.Row(containerColumns, records.ContainerIDFrom(r.GetContainerId()).String(),
			javafmt.Time(r.GetCreationTime(), s.zone), javafmt.Time(r.GetFinishTime(), s.zone),
			containerState(r), containerHost(r), containerHTTP(r),
			orNull(r.HasLogUrl(), r.GetLogUrl())))
	}
	return nil
}

// attemptNamed returns the attempt that an id names; that of an application is its current one.
func attemptNamed(s *session, text string) (records.AttemptID, error) {
	if _, err := records.ParseApplicationID(text); err != nil {
		return records.ParseAttemptID(text)
	}
	app, err := s.appReport(text, "RM")
	if err != nil {
		return records.AttemptID{}, err
	}
	return records.AttemptIDFrom(app.GetCurrentApplicationAttemptId()), nil
}

// containerState returns a container's state. It also tells suspended ones, which only Heddle has.
func containerState(r *pb.ContainerReport) string {
	if r.GetHeddleSuspended() {
		return "SUSPENDED"
	}
	return records.ContainerStateName(r.GetContainerState())
}

func containerHost(r *pb.ContainerReport) string {
	if !r.HasNodeId() {
		return "null"
	}
	return records.NodeIDFrom(r.GetNodeId()).String()
}

func containerHTTP(r *pb.ContainerReport) string {
	if !r.HasNodeHttpAddress() {
		return javafmt.NotAvailable
	}
	return r.GetNodeHttpAddress()
}

// containerReport asks for a container. If it doesn't exist, it prints YARN's message.
func (s *session) containerReport(id records.ContainerID, text string) (*pb.ContainerReport, error) {
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	req := &pb.GetContainerReportRequest{}
	req.SetContainerId(id.PB())
	resp, err := cluster.Call(s, c, protocol.GetContainerReport, req)
	missing := ""
	switch {
	case err == nil:
		return resp.GetContainerReport(), nil
	case ipc.IsClass(err, ipc.ApplicationNotFound):
		missing = "Application for Container"
	case ipc.IsClass(err, ipc.AttemptNotFound):
		missing = "Application Attempt for Container"
	case ipc.IsClass(err, ipc.ContainerNotFound):
		missing = "Container"
	default:
		return nil, err
	}
	s.print("%s with id '%s' doesn't exist in RM or Timeline Server.\n", missing, text)
	return nil, failed
}

func (s *session) containerStatus(text string) error {
	id, err := records.ParseContainerID(text)
	if err != nil {
		return err
	}
	if s.json {
		return s.printREST(attemptPath(id.Attempt)+"/containers/"+id.String(), nil)
	}
	r, err := s.containerReport(id, text)
	if err != nil {
		return err
	}
	s.print("Container Report : \n")
	field(s, "Container-Id", records.ContainerIDFrom(r.GetContainerId()).String())
	field(s, "Start-Time", fmt.Sprint(r.GetCreationTime()))
	field(s, "Finish-Time", fmt.Sprint(r.GetFinishTime()))
	field(s, "State", containerState(r))
	field(s, "Execution-Type", r.GetExecutionType().String())
	field(s, "LOG-URL", orNull(r.HasLogUrl(), r.GetLogUrl()))
	field(s, "Host", containerHost(r))
	field(s, "NodeHttpAddress", containerHTTP(r))
	field(s, "ExposedPorts", r.GetExposedPorts())
	paragraph(s, "Diagnostics", orNull(r.HasDiagnosticsInfo(), r.GetDiagnosticsInfo()))
	return nil
}

func (s *session) containerSignal(values []string) error {
	id, err := records.ParseContainerID(values[0])
	if err != nil {
		return err
	}
	command := signals[0]
	switch len(values) {
	case 1:
	case 2:
		i := slices.IndexFunc(signals, func(c pb.SignalContainerCommand) bool { return c.String() == values[1] })
		if i < 0 {
			return fmt.Errorf("%q is not a command for containers; use one of %s", values[1], signalNames())
		}
		command = signals[i]
	default:
		return s.usage()
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	s.print("Signalling container %s\n", values[0])
	req := &pb.SignalContainerRequest{}
	req.SetContainerId(id.PB())
	req.SetCommand(command)
	_, err = cluster.Call(s, c, protocol.SignalToContainer, req)
	return err
}
