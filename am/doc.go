// Package am is a library for YARN ApplicationMasters. A program that uses it runs on Heddle and on stock Hadoop.
//
// Run does everything around the application's own work: it finds the credentials and the ResourceManager, registers,
// keeps the conversation alive through failovers, and says farewell:
//
//	err := am.Run(ctx, am.Options{}, func(ctx context.Context, m *am.Master) error {
//		if _, err := m.Request(am.Request{Resource: records.NewResource(1024, 1), Count: 10}); err != nil {
//			return err
//		}
//		done := 0
//		for e := range m.Events() {
//			switch e := e.(type) {
//			case am.ContainersAllocated:
//				for _, c := range e.Containers {
//					m.Start(c.ID, am.Launch{Command: []string{"./work", "1><LOG_DIR>/stdout"}})
//				}
//			case am.ContainerCompleted:
//				if done++; done == 10 {
//					return nil
//				}
//			}
//		}
//		return nil
//	})
//
// # What a program can rely on
//
// Methods of a Master return at once; what comes of them are events, which arrive in the order in which things happened. The
// events of one container are
//
//	ContainersAllocated, then after Start ContainerStarted or ContainerStartFailed, and in any case one ContainerCompleted.
//
// Every container serves a Request; those that turn out not to be needed any more are given back and never seen. A
// container whose start failed is given back as well.
//
// Another ResourceManager taking over loses nothing: what is outstanding is told again, and Resynced is an event only for
// information. A NodeManager that is restarting is waited for.
//
// An attempt that is told to go (ShutdownRequested), or whose context ends, says no farewell, so that another attempt may
// continue its work; containers of this one that went on are then in Registration.Previous, if the application was
// submitted so that they do.
package am
