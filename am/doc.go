// Package am is a library for YARN ApplicationMasters. A program that uses it runs on Heddle and on stock Hadoop.
//
// Run does everything around the application's own work: it finds the credentials and the ResourceManager, registers,
// keeps the conversation alive through failovers, and unregisters:
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
// Methods of a Master return at once; their outcomes are events, in the order in which things happened. The
// events of one container are
//
//	ContainersAllocated, then after Start ContainerStarted or ContainerStartFailed, and in any case one ContainerCompleted.
//
// Every container serves a Request; the Master gives back containers that are no longer needed, and never reports them. It gives
// back a container whose start failed as well.
//
// On Heddle a container that runs may be suspended for a while. Between ContainersSuspended and ContainersResumed it is suspended and loses
// nothing: a program that watches over its containers stops their clocks meanwhile. After a change of ResourceManagers, and in a later
// attempt, events name all containers that are suspended then.
//
// Nothing is lost when another ResourceManager takes over: the Master repeats what is outstanding, and Resynced is only for
// information. The Master waits for a NodeManager that restarts.
//
// An attempt that is dismissed (ShutdownRequested), or whose context ends, doesn't unregister, so that another attempt may
// continue its work. If the application was submitted to keep containers across attempts, they are then in
// Registration.Previous.
package am
