// Package protocol is the table of YARN's protocols: every method as a value that knows its name on the wire and the
// types of its request and response.
//
// A client calls it through an ipc.Invoker, a server gives it a function:
//
//	resp, err := protocol.GetNewApplication.Call(ctx, rm, &pb.GetNewApplicationRequest{})
//
//	protocol.GetNewApplication.Serve(server, func(ctx context.Context, req *pb.GetNewApplicationRequest) (
//		*pb.GetNewApplicationResponse, error) { … })
package protocol
