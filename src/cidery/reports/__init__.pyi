from .content import list_numbers as list_numbers
from .page import STATIC as STATIC
from .writing import Report as Report
from .writing import write_report as write_report
