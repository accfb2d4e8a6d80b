// Package hadooplab starts a stock Apache Hadoop for tests: NameNodes, DataNodes, a ResourceManager, NodeManagers and a
// JobHistoryServer as processes of their own, from Maven's jars, each lab on free ports and in a folder of its own.
//
//	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 2})
//	lab.URI()                                     // hdfs://localhost:…
//	lab.Conf()                                    // a configuration folder for clients
//	out, err := lab.Run(ctx, "hdfs", "dfs", "-ls", "/")
//	lab.Daemon("datanode1").Kill()
//
// A package whose tests share one HDFS declares it once; it starts when the first test asks for it:
//
//	var hdfs = hadooplab.NewShared(hadooplab.Options{DataNodes: 2})
//
//	func TestMain(m *testing.M) { os.Exit(hdfs.Run(m)) }
//
// The jars (100 MB) are fetched by mvn once and kept in $HEDDLE_TEST_CACHE, by default the folder heddle in the user's
// cache directory. It takes Java 17 or later (or 8, 11) and, the first time, mvn and the network.
//
// Nothing outlives the test process: daemons are tied to it by the kernel, and a watchdog ends what they started, even
// when the test process is killed.
package hadooplab
