import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.io.nativeio.NativeIO;

/** A DataNode that keeps blocks in memory for the NameNode without Hadoop's native library, which alone can lock pages there. */
public class CachingDataNode {
    public static void main(String[] args) {
        NativeIO.POSIX.setCacheManipulator(new NativeIO.POSIX.NoMlockCacheManipulator());
        DataNode.main(args);
    }
}
