import org.apache.cassandra.utils.Clock;

// Ahead is a clock of Cassandra that is 5 s ahead (-Dcassandra.clock=Ahead).
public class Ahead implements Clock {
    public long nanoTime() { return System.nanoTime(); }

    public long currentTimeMillis() { return System.currentTimeMillis() + 5000; }
}

// Agent does nothing. Java puts its jar, with Ahead, on the class path. "java -version" has no Clock.
class Agent {
    public static void premain(String args) {}
}
