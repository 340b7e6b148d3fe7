import './report.css';
import './panel.css';
