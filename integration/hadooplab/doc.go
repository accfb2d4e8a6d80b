// Package hadooplab starts a stock Apache Hadoop for tests: NameNodes, DataNodes, a ResourceManager, NodeManagers and a
// JobHistoryServer as processes of their own, from Maven's jars, each lab on free ports and in a folder of its own.
//
//	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 2})
//	lab.URI()                                     // hdfs://localhost:…
//	lab.Conf()                                    // a configuration folder for clients
//	out, err := lab.Run(ctx, "hdfs", "dfs", "-ls", "/")
//	lab.Daemon("datanode1").Kill()
//
// A package whose tests share one HDFS declares it once. It starts when the first test calls Lab:
//
//	var hdfs = hadooplab.NewShared(hadooplab.Options{DataNodes: 2})
//
//	func TestMain(m *testing.M) { os.Exit(hdfs.Run(m)) }
//
// mvn downloads the jars (100 MB) once, into $HEDDLE_TEST_CACHE, or else into the folder heddle of the user's cache
// directory. The package needs Java 17 or later (or 8, 11) and, the first time, mvn and the network.
//
// Nothing outlives the test process. The kernel ends the daemons with it, and a watchdog ends what they started, even
// if the test process is killed.
package hadooplab
