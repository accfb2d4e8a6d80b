// Package past answers what clients ask a timeline server about containers that have ended (Hadoop: ApplicationHistoryProtocol), from what the ResourceManager
// still knows of them.
package past

import (
	"context"

	"heddle/rm/view"
	"heddle/rm/view/past"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// Past answers.
type Past struct {
	View *view.Viewer
	// Visible refuses callers who may not see what belongs to an application.
	Visible func(ctx context.Context, app records.ApplicationID, what string) error
	// Report shows a container that lives.
	Report func(*view.Container) *pb.ContainerReport
	// Absent says that something isn't there.
	Absent func(class, format string, args ...any) error
}

// ServeClients answers for containers.
func (p *Past) ServeClients(server *ipc.Server) {
	protocol.GetPastContainers.ServeLong(server, p.containers)
	protocol.GetPastContainerReport.Serve(server, p.container)
}

func (p *Past) containers(
	ctx context.Context, req *pb.GetContainersRequest,
) (*pb.GetContainersResponse, error) {
	id := records.AttemptIDFrom(req.GetApplicationAttemptId())
	if err := p.Visible(ctx, id.App, "application "+id.App.String()); err != nil {
		return nil, err
	}
	list, ok := past.Containers(p.View, id)
	if !ok {
		return nil, p.Absent(ipc.AttemptNotFound, "ApplicationAttempt with id '%v' doesn't exist in RM.", id)
	}
	out := make([]*pb.ContainerReport, len(list))
	for i := range list {
		out[i] = p.report(&list[i])
	}
	return pb.GetContainersResponse_builder{Containers: out}.Build(), nil
}

func (p *Past) container(
	ctx context.Context, req *pb.GetContainerReportRequest,
) (*pb.GetContainerReportResponse, error) {
	id := records.ContainerIDFrom(req.GetContainerId())
	if err := p.Visible(ctx, id.Attempt.App, "application "+id.Attempt.App.String()); err != nil {
		return nil, err
	}
	c, ok := past.Container(p.View, id)
	if !ok {
		return nil, p.Absent(ipc.ContainerNotFound, "Container with id '%v' doesn't exist in RM.", id)
	}
	return pb.GetContainerReportResponse_builder{ContainerReport: p.report(&c)}.Build(), nil
}

func (p *Past) report(c *view.Container) *pb.ContainerReport {
	r := p.Report(c)
	if c.Live() {
		return r
	}
	exit, text := past.Aborted(c.ExitStatus, c.Diagnostic)
	r.SetContainerState(pb.ContainerState_C_COMPLETE)
	r.SetContainerExitStatus(exit)
	r.SetDiagnosticsInfo(text)
	r.SetLogUrl(past.LogsURL(p.View, c))
	return r
}
