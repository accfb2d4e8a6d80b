package command

import (
	"fmt"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/javafmt"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

var attempt = verb{
	name: "applicationattempt", title: "applicationattempt",
	short: "List, show and fail the attempts of an application",
	options: func() []option.Option {
		return []option.Option{
			{Name: "list", Arg: "Application ID", Help: "Lists the attempts of an application."},
			{Name: "status", Arg: "Application Attempt ID", Help: "Shows an attempt."},
			{Name: "fail", Arg: "Application Attempt ID", Help: "Fails an attempt. The next one starts if the application may have another."},
		}
	},
	run: func(s *session, l *option.Line) error {
		switch {
		case len(l.Args) > 0:
			return s.usage()
		case l.Has("status"):
			return s.attemptStatus(l.Value("status"))
		case l.Has("list"):
			return s.attemptList(l.Value("list"))
		case l.Has("fail"):
			return s.attemptFail(l.Value("fail"))
		}
		return s.invalid()
	},
}

var attemptColumns = []int{30, 20, 35, 35}

func (s *session) attemptList(text string) error {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return err
	}
	if s.json {
		return s.printREST(appPath(id)+"/appattempts", nil)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.GetApplicationAttemptsRequest{}
	req.SetApplicationId(id.PB())
	resp, err := cluster.Call(s, c, protocol.GetApplicationAttempts, req)
	if err != nil {
		return err
	}
	s.print("Total number of application attempts :%d\n", len(resp.GetApplicationAttempts()))
	s.write(javafmt.Row(attemptColumns, "ApplicationAttempt-Id", "State", "AM-Container-Id", "Tracking-URL"))
	for _, a := range resp.GetApplicationAttempts() {
		s.write(javafmt.Row(attemptColumns, records.AttemptIDFrom(a.GetApplicationAttemptId()).String(),
			records.AttemptStateName(a.GetYarnApplicationAttemptState()), amContainer(a),
			orNull(a.HasTrackingUrl(), a.GetTrackingUrl())))
	}
	return nil
}

// amContainer returns the id of the ApplicationMaster's container, if the attempt has one.
func amContainer(a *pb.ApplicationAttemptReport) string {
	if !a.HasAmContainerId() {
		return javafmt.NotAvailable
	}
	return records.ContainerIDFrom(a.GetAmContainerId()).String()
}

func (s *session) attemptStatus(text string) error {
	id, err := records.ParseAttemptID(text)
	if err != nil {
		return err
	}
	if s.json {
		return s.printREST(attemptPath(id), nil)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.GetApplicationAttemptReportRequest{}
	req.SetApplicationAttemptId(id.PB())
	resp, err := cluster.Call(s, c, protocol.GetApplicationAttemptReport, req)
	switch {
	case ipc.IsClass(err, ipc.ApplicationNotFound):
		s.print("Application for AppAttempt with id '%s' doesn't exist in RM or Timeline Server.\n", text)
		return failed
	case ipc.IsClass(err, ipc.AttemptNotFound):
		s.print("Application Attempt with id '%s' doesn't exist in RM or Timeline Server.\n", text)
		return failed
	case err != nil:
		return err
	}
	a := resp.GetApplicationAttemptReport()
	s.print("Application Attempt Report : \n")
	field(s, "ApplicationAttempt-Id", records.AttemptIDFrom(a.GetApplicationAttemptId()).String())
	field(s, "State", records.AttemptStateName(a.GetYarnApplicationAttemptState()))
	field(s, "AMContainer", amContainer(a))
	field(s, "Tracking-URL", orNull(a.HasTrackingUrl(), a.GetTrackingUrl()))
	field(s, "RPC Port", fmt.Sprint(a.GetRpcPort()))
	field(s, "AM Host", orNull(a.HasHost(), a.GetHost()))
	paragraph(s, "Diagnostics", orNull(a.HasDiagnostics(), a.GetDiagnostics()))
	return nil
}

func (s *session) attemptFail(text string) error {
	id, err := records.ParseAttemptID(text)
	if err != nil {
		return err
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	s.print("Failing attempt %v of application %v\n", id, id.App)
	req := &pb.FailApplicationAttemptRequest{}
	req.SetApplicationAttemptId(id.PB())
	_, err = cluster.Call(s, c, protocol.FailApplicationAttempt, req)
	return err
}
